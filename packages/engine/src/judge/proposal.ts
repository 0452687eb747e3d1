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
import type { NewQuestion } from './asking.js'
import type { HeldResource } from './call-effects.js'
import type { Draw, SharedCounts } from './rules/draws.js'
import type { People } from './rules/standing.js'

/** A model's response with everything that its verdict depends on. */
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
  /** The tools that preflight left in the request; null if nothing was narrowed. */
  readonly offered: readonly string[] | null
  readonly toolless: boolean
  /** From `judgeInputInvariants`, by tool. */
  readonly inputFailures?: ReadonlyMap<string, readonly ContractFailure[]> | undefined
  readonly flows?: Flows | undefined
  readonly heldResources?: ((key: string, mode: ResourceMode) => string | null) | undefined
  /** Absent: limits that sessions share are not judged. */
  readonly shared?: SharedCounts | undefined
  readonly ids: { readonly sessionId: string; readonly proposalId: string; pendingCallId(index: number): string }
  readonly provider?: string | null | undefined
  readonly model?: string | null | undefined
  readonly usage?: Usage | null | undefined
  /** Hash of the raw response; if absent, what was read from it is hashed. */
  readonly responseHash?: string | undefined
  /** `reported` if no server holds the session: no stronger evidence is possible then. */
  readonly evidence?: 'contract' | 'reported' | undefined
  /** False if the time of the calls is unknown: hours say nothing about them then. */
  readonly isTimed?: boolean | undefined
  /** False in shadow mode, where no person is asked. */
  readonly asks?: boolean | undefined
  /**
   * The people whom checkpoints with `ask` ask. Null: none can be asked here. Absent in trials, where they count as
   * checkpoints of the program.
   */
  readonly people?: People | null | undefined
  /**
   * False if allowed calls are neither stored nor run by a wrapper. Arguments are then hashed only for rules that
   * compare them and for reported blocks, because two hashes are a sixth of the cost of a verdict.
   */
  readonly keepsHashes?: boolean | undefined
}

/** The engine's answer to a whole proposal: a decision for each call, the cost, and what the calls hold. */
export interface Verdict {
  readonly outcome: LedgerBody<'proposal'>['outcome']
  readonly decisions: Decision[]
  readonly cost: string
  readonly event: ProposalFacts
  /** What each registered call holds, by its pending call id. */
  readonly resources: ReadonlyMap<string, readonly HeldResource[]>
  /** What is taken of limits that sessions share, each once. */
  readonly draws: readonly TakenDraw[]
  /** What people are asked from now on. */
  readonly questions: readonly NewQuestion[]
  /** The circuit breaker has tripped: the session must be killed. */
  readonly breaker: boolean
}

/** What a proposal takes of a limit, over all its calls. */
export interface TakenDraw extends Draw {
  /** Nothing may be taken beyond the limit. False of what has happened already: a cost, or a tool that the provider ran. */
  readonly guarded: boolean
}
