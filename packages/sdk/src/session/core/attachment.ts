import type { Environment } from '@countersign/protocol'
import type { Transport } from '../../authority/transport.js'
import { messageOf } from '../../base/diagnostics.js'
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

export const noPlan = (agent: string, environment: Environment): string =>
  `agent ${agent} has no approved plan in ${environment}: approve one in the dashboard, where countersign plan submit ` +
  'puts your contracts as a draft'

/** Looks up the approved plan of the agent and prepares it. Failures are part of the state, never thrown. */
export async function attachPlan(settings: ReplaySettings, transport: Transport): Promise<Attachment> {
  const agent = settings.agent ?? DEFAULT_AGENT
  const { environment } = settings
  const failed = (state: Attachment['state'], detail: string): Attachment => ({ state, detail, loaded: null })
  try {
    const lookup = await transport.call('lookupPlan', { query: { agent, environment } })
    if (lookup.status !== 'approved') {
      return failed('no_plan', noPlan(agent, environment))
    }
    const read = readApprovedPlan(lookup)
    if (!read.ok) return failed('artifact_invalid', read.problem)
    try {
      checkPlanUse(read.loaded, settings, (settings.mode ?? ATTACHED_AS[environment].mode) === 'enforce')
    } catch (error) {
      return failed('attachment_failed', messageOf(error))
    }
    return { state: 'attached', detail: `plan ${read.loaded.plan.hash} is attached`, loaded: read.loaded }
  } catch (error) {
    return { ...failed('fetch_failed', messageOf(error)), cause: error }
  }
}
