import type {
  ContractFailure,
  Decision,
  Flows,
  Gate,
  JsonValue,
  LedgerBody,
  UnmatchedPolicy,
  Usage,
} from '@countersign/protocol'
import type { Plan } from '../contract/plan.js'
import type { ResourceMode } from '../contract/resource.js'
import type { ReadResponse } from '../response/read-response.js'
import type { ProposalFacts } from '../state/apply-proposal.js'
import type { SessionState } from '../state/state.js'
import type { Held } from './call-effects.js'

/** A model's response with all that its judgement depends on. */
export interface Proposal {
  readonly plan: Plan
  readonly state: SessionState
  readonly response: ReadResponse
  readonly gate: Gate
  readonly unmatchedPolicy: UnmatchedPolicy
  readonly principal?: JsonValue | undefined
  readonly agent: string | null
  readonly salt: string
  readonly nowMs: number
  /** The tools that preflight left in the request; null where nothing was narrowed. */
  readonly offered: readonly string[] | null
  readonly toolless: boolean
  /** From `judgeInputInvariants`, by tool. */
  readonly inputFailures?: ReadonlyMap<string, readonly ContractFailure[]> | undefined
  readonly flows?: Flows | undefined
  readonly heldResources?: ((key: string, mode: ResourceMode) => string | null) | undefined
  readonly ids: { readonly sessionId: string; readonly proposalId: string; pendingCallId(index: number): string }
  readonly provider?: string | null | undefined
  readonly model?: string | null | undefined
  readonly usage?: Usage | null | undefined
  /** Of the response as it came; without it the hash of what was read from it. */
  readonly responseHash?: string | undefined
  /** `reported` where no server keeps the session: then no better evidence can be had. */
  readonly evidence?: 'contract' | 'reported' | undefined
  /** False in shadow mode, where nobody is asked. */
  readonly asks?: boolean | undefined
  /**
   * False where nobody keeps what is allowed, and no wrapper runs it: arguments are then hashed for the rules that
   * compare them and for whoever is told of a block, since two hashes are a sixth of a judgement.
   */
  readonly keepsHashes?: boolean | undefined
}

export interface Verdict {
  readonly outcome: LedgerBody<'proposal'>['outcome']
  readonly decisions: Decision[]
  readonly cost: string
  readonly event: ProposalFacts
  /** What each registered call holds, by its pending call id. */
  readonly resources: ReadonlyMap<string, readonly Held[]>
  /** The session's circuit breaker has tripped: it must be killed. */
  readonly breaker: boolean
}
