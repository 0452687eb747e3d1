import type { AuthorityFacts } from '../../authority/authority.js'
import type { HealthSnapshot } from '../../base/health-snapshot.js'
import type { CompatEnforcement, Mode } from '../../options/replay-options.js'
import type { AttachmentState } from './attachment.js'

export interface HealthFacts {
  readonly mode: Mode
  readonly compatEnforcement: CompatEnforcement
  /** The server decides, when it can be asked. */
  readonly governed: boolean
  /** There is no plan, so every call is refused, or passes unjudged where that is advisory. */
  readonly refusing: boolean
  readonly restored: boolean
  readonly bypassed: boolean
  readonly attachment: AttachmentState | null
  readonly authority: AuthorityFacts
  readonly clusterDetected: boolean
  readonly totalSteps: number
  readonly totalBlocks: number
  /** Of callbacks, captures and judgements that only watch. */
  readonly otherErrors: number
  readonly shadowEvaluations: number
}

export function healthOf(facts: HealthFacts): HealthSnapshot {
  const { authority, governed } = facts
  const killed = authority.status === 'KILLED'
  const unresolved = authority.undeliveredReceipts + authority.inDoubt
  const degraded = authority.degradedLocal
  return Object.freeze({
    status: statusOf(facts),
    authorityState: authorityStateOf(facts),
    protectionLevel: facts.mode !== 'enforce' ? 'monitor' : governed && !degraded ? 'govern' : 'protect',
    durability: durabilityOf(facts),
    tier: governed && !degraded ? 'strong' : 'compat',
    compatEnforcement: facts.compatEnforcement,
    cluster_detected: facts.clusterDetected,
    bypass_detected: facts.bypassed,
    totalSteps: facts.totalSteps,
    totalBlocks: facts.totalBlocks,
    totalErrors: authority.errors + facts.otherErrors,
    shadowEvaluations: facts.shadowEvaluations,
    killed,
    ...(facts.attachment !== null && { governanceAttachment: facts.attachment }),
    ...(governed && { unresolvedReceiptCount: unresolved }),
  })
}

/** A session that waits in vain for its plan has a server, although nothing is stored there yet. */
function durabilityOf({ governed, refusing, attachment, authority }: HealthFacts): HealthSnapshot['durability'] {
  if (refusing) return attachment === 'fetch_failed' ? 'degraded-local' : 'server'
  if (!governed) return 'inactive'
  return authority.degradedLocal || authority.undeliveredReceipts > 0 ? 'degraded-local' : 'server'
}

function statusOf({ authority, restored, refusing, bypassed }: HealthFacts): HealthSnapshot['status'] {
  if (authority.status === 'KILLED' || restored || authority.lost) return 'inactive'
  const isWhole =
    authority.status === 'ACTIVE' && authority.serverReachable !== false && authority.undeliveredReceipts === 0
  return isWhole && authority.inDoubt === 0 && !refusing && !bypassed ? 'healthy' : 'degraded'
}

function authorityStateOf(facts: HealthFacts): HealthSnapshot['authorityState'] {
  const { authority, mode, restored, attachment } = facts
  if (authority.status === 'KILLED') return 'killed'
  if (authority.status === 'COMPROMISED') return 'compromised'
  if (restored || authority.lost) return 'inactive'
  if (authority.status === 'RECOVERING' || authority.inDoubt > 0) return 'recovering'
  // Nobody judges: because there is no plan, or because nothing is to be judged.
  if (attachment !== null && attachment !== 'attached') return 'inactive'
  if (mode === 'log-only') return 'inactive'
  if (mode === 'shadow') return 'advisory'
  const isLocal = !facts.governed || authority.degradedLocal
  return isLocal && facts.compatEnforcement === 'advisory' ? 'advisory' : 'active'
}
