import type { AuthorityFacts } from '../../authority/authority.js'
import { type HealthSnapshot, isClusterMember } from '../../base/health-snapshot.js'
import type { CompatEnforcement, Mode } from '../../options/replay-options.js'
import type { AttachmentState } from './attachment.js'
import type { SessionContext } from './session-context.js'
import { protectionLevelOf } from './session-rules.js'

export interface HealthFacts {
  readonly mode: Mode
  readonly compatEnforcement: CompatEnforcement
  /** The server decides, when it can be asked. */
  readonly governed: boolean
  /** Every call is refused: there is no plan, or too little protection. */
  readonly refusing: boolean
  /** Every call passes, as the session is advisory and has no plan. */
  readonly unjudged: boolean
  readonly restored: boolean
  readonly bypassed: boolean
  /** Null where contracts were given, so that no plan is looked up. */
  readonly attachment: AttachmentState | null
  readonly authority: AuthorityFacts
  readonly clusterDetected: boolean
  readonly totalSteps: number
  readonly totalBlocks: number
  /** Of callbacks, captures and judgements that only watch. */
  readonly otherErrors: number
  readonly shadowEvaluations: number
}

export function sessionHealth(session: SessionContext): HealthSnapshot {
  const { settings, notes, captures } = session
  const { mode, compat: compatEnforcement, governed, refusal, unjudged, attachment } = session.rules()
  const { stateVersion: totalSteps, totalBlocks } = session.authority().current().state()
  return healthOf({
    ...{ mode, compatEnforcement, governed, unjudged, attachment },
    refusing: refusal !== null,
    restored: session.hasEnded(),
    bypassed: session.isBypassed(),
    authority: session.authority().facts(),
    clusterDetected: isClusterMember(settings.appInstance),
    totalSteps,
    totalBlocks,
    otherErrors: notes.errors() + captures.failures(),
    shadowEvaluations: notes.shadowEvaluations(),
  })
}

/** The health that follows from the states of a session. Nothing else says what a field is worth. */
export function healthOf(facts: HealthFacts): HealthSnapshot {
  const { authority, governed, mode, compatEnforcement, refusing } = facts
  const alone = authority.degradedLocal
  return Object.freeze({
    status: statusOf(facts),
    authorityState: authorityStateOf(facts),
    protectionLevel: protectionLevelOf({ mode, compat: compatEnforcement, governed, refusing, alone }),
    durability: durabilityOf(facts),
    tier: governed && !alone ? 'strong' : 'compat',
    compatEnforcement,
    cluster_detected: facts.clusterDetected,
    bypass_detected: facts.bypassed,
    totalSteps: facts.totalSteps,
    totalBlocks: facts.totalBlocks,
    totalErrors: authority.errors + facts.otherErrors,
    shadowEvaluations: facts.shadowEvaluations,
    killed: authority.status === 'KILLED',
    ...(facts.attachment !== null && { governanceAttachment: facts.attachment }),
    ...(governed && {
      unresolvedReceiptCount: authority.undeliveredReceipts + authority.inDoubt,
      totalUnguardedCalls: authority.unguardedCalls,
    }),
  })
}

function durabilityOf(facts: HealthFacts): HealthSnapshot['durability'] {
  const { governed, attachment, authority, mode, refusing } = facts
  if (!governed && attachment === null) return 'inactive'
  if (governed) {
    return authority.connection === 'up' && authority.undeliveredReceipts === 0 ? 'server' : 'degraded-local'
  }
  const isAnswered = attachment !== 'pending' && attachment !== 'fetch_failed'
  // The plan is the server's. What this process allows by it is known here alone.
  const decidesHere = mode === 'enforce' && !refusing
  return isAnswered && !decidesHere ? 'server' : 'degraded-local'
}

function statusOf({ authority, restored, refusing, unjudged, bypassed }: HealthFacts): HealthSnapshot['status'] {
  if (authority.status === 'KILLED' || restored || authority.lost) return 'inactive'
  const isWhole =
    authority.status === 'ACTIVE' && authority.connection !== 'down' && authority.undeliveredReceipts === 0
  return isWhole && authority.inDoubt === 0 && !refusing && !unjudged && !bypassed ? 'healthy' : 'degraded'
}

function authorityStateOf(facts: HealthFacts): HealthSnapshot['authorityState'] {
  const { authority, mode, restored, attachment, refusing } = facts
  if (authority.status === 'KILLED') return 'killed'
  if (authority.status === 'COMPROMISED') return 'compromised'
  if (restored || authority.lost) return 'inactive'
  if (authority.status === 'RECOVERING' || authority.inDoubt > 0) return 'recovering'
  // Nothing is judged: because there is no plan, or because nothing is to be judged.
  if (refusing || (attachment !== null && attachment !== 'attached')) return 'inactive'
  if (mode === 'log-only') return 'inactive'
  if (mode === 'shadow') return 'advisory'
  const isLocal = !facts.governed || authority.degradedLocal
  return isLocal && facts.compatEnforcement === 'advisory' ? 'advisory' : 'active'
}
