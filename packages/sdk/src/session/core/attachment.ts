import type { Environment } from '@countersign/protocol'
import { createBodyOf } from '../../authority/remote/session-api.js'
import {
  type ReplyOf,
  ServiceFailure,
  ServiceRefusal,
  ServiceThrottled,
  type Transport,
} from '../../authority/transport.js'
import { messageOf } from '../../base/diagnostics.js'
import { ReplayUnavailableError } from '../../base/errors.js'
import type { CompatEnforcement, Mode } from '../../options/replay-options.js'
import type { ReplaySettings } from '../../options/replay-settings.js'
import { checkPlanUse, type LoadedPlan, readApprovedPlan } from './load-plan.js'

export type AttachmentState =
  | 'pending'
  | 'no_plan'
  | 'attached'
  | 'artifact_invalid'
  | 'attachment_failed'
  | 'fetch_failed'

export interface Attachment {
  readonly state: Exclude<AttachmentState, 'pending'>
  readonly detail: string
  /** Null unless attached. */
  readonly loaded: LoadedPlan | null
  /** The session, where it was opened on the way. */
  readonly created: ReplyOf<'createSession'> | null
  /** What the lookup failed with; absent where it was answered. */
  readonly cause?: unknown
}

/** Whose plan a session without an agent goes by. */
export const DEFAULT_AGENT = 'default'

/** How an approved plan is used where the options do not say. */
export const ATTACHED_AS: Readonly<Record<Environment, { readonly mode: Mode; readonly compat: CompatEnforcement }>> = {
  development: { mode: 'shadow', compat: 'protective' },
  staging: { mode: 'enforce', compat: 'advisory' },
  production: { mode: 'enforce', compat: 'protective' },
}

/** Looks up the approved plan of the agent and prepares it. Failures are part of the state, never thrown. */
export async function attachPlan(settings: ReplaySettings, transport: Transport): Promise<Attachment> {
  const isEnforced = (settings.mode ?? ATTACHED_AS[settings.environment].mode) === 'enforce'
  const named = { ...settings, agent: settings.agent ?? DEFAULT_AGENT }
  const { shared } = settings
  return shared !== null && isEnforced
    ? attachShared(named, shared.holderId, transport)
    : attachApproved(named, isEnforced, transport)
}

type NamedSettings = ReplaySettings & { readonly agent: string }

async function attachApproved(settings: NamedSettings, isEnforced: boolean, transport: Transport): Promise<Attachment> {
  const { agent, environment } = settings
  try {
    const lookup = await transport.call('lookupPlan', { query: { agent, environment } })
    if (lookup.status !== 'approved') return noPlan(agent, environment)
    const read = readApprovedPlan(lookup)
    if (!read.ok) return failed('artifact_invalid', read.problem)
    try {
      checkPlanUse(read.loaded, settings, isEnforced)
    } catch (error) {
      return failed('attachment_failed', messageOf(error))
    }
    return attached(read.loaded, null)
  } catch (error) {
    return failed('fetch_failed', messageOf(error), error)
  }
}

/**
 * Opens a session that several processes hold together, or goes on with it, and takes the plan that the server answers:
 * the approved one for a new session, its own for one that exists, even if another was approved since.
 */
async function attachShared(settings: NamedSettings, holderId: string, transport: Transport): Promise<Attachment> {
  const { agent, environment } = settings
  try {
    const body = await createBodyOf({ ...settings, holderId }, settings.principalToken)
    const created = await transport.call('createSession', { body })
    const { compiled_hash, compiled_session = null } = created
    const read = readApprovedPlan({ compiled_hash, compiled_session })
    if (!read.ok) return failed('artifact_invalid', read.problem)
    checkPlanUse(read.loaded, settings, true)
    return attached(read.loaded, created)
  } catch (error) {
    if (error instanceof ServiceFailure) {
      return failed('fetch_failed', `the server cannot be reached: ${error.message}`, error)
    }
    // The program may fetch a token the next time.
    if (error instanceof ReplayUnavailableError) return failed('fetch_failed', error.message, error)
    if (!(error instanceof ServiceRefusal)) return failed('attachment_failed', messageOf(error))
    if (error.code === 'PLAN_UNKNOWN') return noPlan(agent, environment)
    if (error instanceof ServiceThrottled) return failed('fetch_failed', error.message, error)
    return failed('attachment_failed', WHY[error.code] ?? messageOf(error), error)
  }
}

const WHY: Readonly<Record<string, string>> = {
  SESSION_HELD: 'another program holds this session: use another session id, or continue it there',
  SESSION_EXISTS:
    'this session belongs to another agent or principal, or was opened with other settings: use another session id',
}

const attached = (loaded: LoadedPlan, created: Attachment['created']): Attachment => {
  const detail = `plan ${loaded.plan.hash} is attached`
  return { state: 'attached', detail, loaded, created }
}

const failed = (state: Attachment['state'], detail: string, cause?: unknown): Attachment => ({
  ...{ state, detail, loaded: null, created: null },
  ...(cause !== undefined && { cause }),
})

const noPlan = (agent: string, environment: Environment): Attachment =>
  failed(
    'no_plan',
    `agent ${agent} has no approved plan in ${environment}: approve one in the dashboard, where countersign plan submit ` +
      'puts your contracts as a draft',
  )
