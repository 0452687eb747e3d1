import { idSchema } from '@countersign/protocol'
import type { Handlers } from '../../context.js'
import { selectSession } from '../../store/sessions.js'
import type { Preload } from '../index.js'
import { addLabel } from './add-label.js'
import { createSession } from './create-session.js'
import { exportEvents } from './export-events.js'
import { killSession } from './kill-session.js'
import { loadSession } from './load-session.js'
import { preflight } from './preflight.js'
import { propose } from './propose.js'
import { recoverSession } from './recover-session.js'
import { reportBypass } from './report-bypass.js'
import { setToolFilter } from './set-tool-filter.js'
import { submitReceipts } from './submit-receipts.js'

const onSession = {
  loadSession,
  preflight,
  propose,
  submitReceipts,
  addLabel,
  setToolFilter,
  reportBypass,
  killSession,
  recoverSession,
  exportEvents,
} satisfies Partial<Handlers>

/** The governed cycle, its controls and its ledger. */
export const sessionHandlers = { createSession, ...onSession } satisfies Partial<Handlers>

/** The session is read together with the key. */
const session: Preload = (sql, { session_id }) =>
  session_id !== undefined && idSchema.safeParse(session_id).success
    ? selectSession(sql, sql`key.tenant_id`, session_id)
    : null

export const sessionPreloads = Object.fromEntries(Object.keys(onSession).map((name) => [name, session])) as Record<
  keyof typeof onSession,
  Preload
>
