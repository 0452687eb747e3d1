import cluster from 'node:cluster'

/** The health of a session or of an observed client. A frozen copy. */
export interface HealthSnapshot {
  /** `inactive`: nothing is watched or governed any more. */
  readonly status: 'healthy' | 'degraded' | 'inactive'
  /** Whether decisions are enforced (`active`), only reported (`advisory`), or no longer reliable. */
  readonly authorityState: 'active' | 'advisory' | 'compromised' | 'recovering' | 'killed' | 'inactive'
  /** `monitor` blocks nothing, `protect` blocks locally, `govern` lets the server decide and record. */
  readonly protectionLevel: 'monitor' | 'protect' | 'govern'
  /** `server`: it answers and holds the state. `degraded-local`: the state is here only. `inactive`: no server is asked. */
  readonly durability: 'server' | 'degraded-local' | 'inactive'
  /** `strong`: the server decides. `compat`: decisions are made locally. */
  readonly tier: 'strong' | 'compat'
  /** What local decisions do: `protective` blocks, `advisory` only reports. */
  readonly compatEnforcement: 'protective' | 'advisory'
  /** Several copies of the program may be running, each with its own local state. */
  readonly cluster_detected: boolean
  /** The original client was called directly. */
  readonly bypass_detected: boolean
  /** Steps that were committed; for `observe`, model calls that were captured. */
  readonly totalSteps: number
  /** Calls that were blocked. */
  readonly totalBlocks: number
  /** Failures of the server, of captures, of callbacks and of evaluations that block nothing. */
  readonly totalErrors: number
  /** Turns that were evaluated in shadow mode. */
  readonly shadowEvaluations: number
  /** The session was killed. */
  readonly killed: boolean
  /** The result of looking up an approved plan; absent if contracts were given. */
  readonly governanceAttachment?:
    | 'pending'
    | 'no_plan'
    | 'attached'
    | 'artifact_invalid'
    | 'attachment_failed'
    | 'fetch_failed'
  /** Calls that the server has no final receipt for yet; absent if it does not govern the session. */
  readonly unresolvedReceiptCount?: number
  /** Turns that were decided without the server and are not in its record; absent if it does not govern the session. */
  readonly totalUnguardedCalls?: number
}

/** True where several copies of the program may run side by side, each with a state of its own. */
export function isClusterMember(appInstance: string | null): boolean {
  return cluster.isWorker || appInstance !== null
}
