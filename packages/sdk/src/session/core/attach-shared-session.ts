import { createBodyOf } from '../../authority/server/server-session.js'
import {
  type ReplyOf,
  ServiceFailure,
  ServiceRefusal,
  ServiceThrottled,
  type Transport,
} from '../../authority/transport.js'
import { messageOf } from '../../base/diagnostics.js'
import type { ReplaySettings } from '../../options/replay-settings.js'
import { type Attachment, DEFAULT_AGENT, noPlan } from './attachment.js'
import { checkPlanUse, readApprovedPlan } from './load-plan.js'

export interface AttachedSession {
  readonly attachment: Attachment
  /** Null where the session could not be opened. */
  readonly created: ReplyOf<'createSession'> | null
}

/**
 * Opens a session that several processes hold together, or goes on with it, and takes the plan that the server answers:
 * the approved one for a new session, its own for one that exists. Failures are part of the state, never thrown.
 */
export async function attachSharedSession(
  settings: ReplaySettings,
  holderId: string,
  transport: Transport,
): Promise<AttachedSession> {
  const agent = settings.agent ?? DEFAULT_AGENT
  const failed = (state: Attachment['state'], detail: string, cause?: unknown): AttachedSession => ({
    attachment: { state, detail, loaded: null, cause },
    created: null,
  })
  try {
    const created = await transport.call('createSession', { body: createBodyOf({ ...settings, agent, holderId }) })
    const { compiled_hash, compiled_session = null } = created
    const read = readApprovedPlan({ compiled_hash, compiled_session })
    if (!read.ok) return failed('artifact_invalid', read.problem)
    checkPlanUse(read.loaded, settings, true)
    const detail = `plan ${compiled_hash} is attached`
    return { attachment: { state: 'attached', detail, loaded: read.loaded }, created }
  } catch (error) {
    if (error instanceof ServiceFailure) {
      return failed('fetch_failed', `the server cannot be reached: ${error.message}`, error)
    }
    if (!(error instanceof ServiceRefusal)) return failed('attachment_failed', messageOf(error))
    if (error.code === 'PLAN_UNKNOWN') {
      return failed('no_plan', noPlan(agent, settings.environment))
    }
    if (error instanceof ServiceThrottled) return failed('fetch_failed', error.message, error)
    return failed('attachment_failed', WHY[error.code] ?? messageOf(error), error)
  }
}

const WHY: Readonly<Record<string, string>> = {
  SESSION_HELD: 'another program holds this session: use another session id, or continue it there',
  SESSION_EXISTS: 'this session belongs to another agent, or was opened with other settings: use another session id',
}
