import type { RouteName } from '@countersign/protocol'
import { accountHandlers } from '../accounts/index.js'
import { keyHandlers } from '../accounts/keys/index.js'
import { memberHandlers } from '../accounts/members/index.js'
import { captureHandlers, captureReaders } from '../captures/index.js'
import type { BodyReaders, Handlers } from '../context/context.js'
import { dashboardHandlers } from '../dashboard/index.js'
import { governanceHandlers } from '../governance/index.js'
import { questionHandlers } from '../questions/index.js'
import { runHandlers, runReaders } from '../runs/index.js'
import { cycleRoutes, sessionHandlers, sessionRoutes } from '../sessions/index.js'
import { webhookHandlers } from '../webhooks/index.js'
import { workflowHandlers } from '../workflows/index.js'

/** The function behind each route. */
export const handlers = {
  ...accountHandlers,
  ...keyHandlers,
  ...memberHandlers,
  ...captureHandlers,
  ...governanceHandlers,
  ...runHandlers,
  ...sessionHandlers,
  ...workflowHandlers,
  ...dashboardHandlers,
  ...questionHandlers,
  ...webhookHandlers,
} satisfies Handlers

/** Routes whose path names a session that they need: whether it is still as it is known is asked together with the key. */
export const readsSession: ReadonlySet<RouteName> = new Set([
  ...sessionRoutes,
  'listSessionQuestions',
  'withdrawQuestion',
] satisfies RouteName[])

/** Routes that do nothing but change their session, so that the statement that writes can re-check the key. */
export const rechecksKey: ReadonlySet<RouteName> = new Set(cycleRoutes)

/** Routes that read, compare or list much: a thread answers them, whatever is asked. */
export const isSlow: ReadonlySet<RouteName> = new Set([
  'approvePlan',
  'approveToolPin',
  'createRun',
  'diffPlan',
  'draftAskingLess',
  'draftPlan',
  'editPlan',
  'eraseContent',
  'exportEvents',
  'exportEventsByPerson',
  'exportWorkflowEvents',
  'judgePlayground',
  'listCaptures',
  'listContracts',
  'listRuns',
  'listSeals',
  'listToolPins',
  'loadPlan',
  'loadProof',
  'loadRun',
  'loadRunDetail',
  'loadSessionDetail',
  'loadTimeline',
  'loadWorkflow',
  'loadWorkflowDetail',
  'startRun',
  'submitPlan',
] satisfies RouteName[])

/** Routes that a thread answers. Those that are not slow do not wait for those that are. */
export const isIsolated: ReadonlySet<RouteName> = new Set([
  ...isSlow,
  'completeHandoff',
  'lookupPlan',
  'offerHandoff',
  'reclaimHandoff',
  'recoverSession',
] satisfies RouteName[])

/** Bodies that are not read as the route's shape says, but by their room. */
export const bodyReaders: BodyReaders = { ...captureReaders, ...runReaders }
