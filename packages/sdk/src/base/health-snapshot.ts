import cluster from 'node:cluster'

/** How a handle or a session is doing. An immutable copy. */
export interface HealthSnapshot {
  readonly status: 'healthy' | 'degraded' | 'inactive'
  readonly authorityState: 'active' | 'advisory' | 'compromised' | 'recovering' | 'killed' | 'inactive'
  readonly protectionLevel: 'monitor' | 'protect' | 'govern'
  readonly durability: 'server' | 'degraded-local' | 'inactive'
  readonly tier: 'strong' | 'compat'
  readonly compatEnforcement: 'protective' | 'advisory'
  readonly cluster_detected: boolean
  readonly bypass_detected: boolean
  readonly totalSteps: number
  readonly totalBlocks: number
  readonly totalErrors: number
  readonly shadowEvaluations: number
  readonly killed: boolean
  readonly governanceAttachment?:
    | 'pending'
    | 'no_plan'
    | 'attached'
    | 'artifact_invalid'
    | 'attachment_failed'
    | 'fetch_failed'
  readonly unresolvedReceiptCount?: number
}

/** True where several copies of the program may run side by side, each with a state of its own. */
export function isClusterMember(appInstance: string | null): boolean {
  return cluster.isWorker || appInstance !== null
}
