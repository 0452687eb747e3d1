import type { Handlers } from '../context/context.js'
import { approvePlan } from './approve-plan.js'
import { diffPlan } from './diff-plan.js'
import { draftAskingLess, draftPlan } from './draft-plan.js'
import { editPlan } from './edit-plan.js'
import { listContracts } from './list-contracts.js'
import { listPlans, loadPlan } from './list-plans.js'
import { lookupPlan } from './lookup-plan.js'
import { rejectPlan } from './reject-plan.js'
import { submitPlan } from './submit-plan.js'
import { approveToolPin, listToolPins, pinTools } from './tool-pins.js'

/** From what was observed to an approved plan. */
export const governanceHandlers = {
  lookupPlan,
  submitPlan,
  diffPlan,
  listContracts,
  listPlans,
  draftAskingLess,
  draftPlan,
  loadPlan,
  editPlan,
  approvePlan,
  rejectPlan,
  pinTools,
  listToolPins,
  approveToolPin,
} satisfies Partial<Handlers>
