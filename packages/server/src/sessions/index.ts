import type { Handlers } from '../context/context.js'
import { exportEvents } from '../ledgers/export-events.js'
import { listSeals } from '../ledgers/list-seals.js'
import { addLabel } from './add-label.js'
import { claimCall } from './claim-call.js'
import { createSession } from './create-session.js'
import { endSession } from './end-session.js'
import { killSession } from './kill-session.js'
import { findSession, loadSession } from './load-session.js'
import { preflight } from './preflight.js'
import { propose } from './propose.js'
import { recoverSession } from './recover-session.js'
import { reportBypass } from './report-bypass.js'
import { setToolFilter } from './set-tool-filter.js'
import { stopAgent } from './stop-agent.js'
import { submitReceipts } from './submit-receipts.js'

const onSession = {
  loadSession,
  preflight,
  propose,
  submitReceipts,
  claimCall,
  addLabel,
  setToolFilter,
  reportBypass,
  killSession,
  endSession,
  recoverSession,
  exportEvents,
} satisfies Partial<Handlers>

/** The governed cycle, its controls and its ledger. */
export const sessionHandlers = {
  createSession,
  findSession,
  ...onSession,
  stopAgent,
  listSeals,
} satisfies Partial<Handlers>

/** Routes about one session, which is read together with the key. */
export const sessionRoutes = Object.keys(onSession) as (keyof typeof onSession)[]

/** The routes of every turn. */
export const cycleRoutes = ['preflight', 'propose', 'submitReceipts'] as const satisfies (keyof typeof onSession)[]
