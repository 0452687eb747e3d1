import type { CompletedStep, EvidenceLevel, Fact, LedgerCall, Opening, SessionStatus } from '@countersign/protocol'
import type { Questions } from './questions.js'

/** An allowed call, which counts from now on. */
export interface RegisteredCall extends LedgerCall {
  readonly pending_call_id: string
  readonly argument_hash: string
}

/** A registered call that has no outcome yet, or whose step is still open. */
export interface PendingCall extends RegisteredCall {
  readonly state: 'pending' | 'in_doubt' | 'resolved'
  readonly proposed_at: string
  /** The claim of the process that runs it. Absent if it is not claimed. */
  readonly claim?: string
  /** Its program had asked about it before, until then. */
  readonly asked_until?: string
}

/** The lowest and the highest of several values. */
export interface Extremes {
  readonly low: string
  readonly high: string
}

/** The proposal whose calls are being resolved. One at a time. */
export interface OpenStep {
  readonly proposalId: string
  readonly cost: string
  readonly calls: readonly PendingCall[]
  /** Set when a call of the step succeeded at its level. */
  readonly succeeded: boolean
  /** The phase that the step advances to when it commits. */
  readonly advancesTo: string | null
  /** The blocks in a row that this step ended, where any: they go on if one of its calls is stopped. */
  readonly blocksBefore?: number
  /** What widens, collected from receipts and applied when the step commits. */
  readonly effects: {
    readonly tools: readonly string[]
    readonly binds: Readonly<Record<string, Fact>>
    readonly establishes: Readonly<Record<string, string>>
    /** Envelopes that end unless the step establishes them. */
    readonly ends?: readonly string[] | undefined
    /** Envelopes without a key, with every value that the step establishes. */
    readonly tightens?: Readonly<Record<string, Extremes>> | undefined
    readonly satisfied: readonly Opening[]
    /** What a newer run has undone: nothing of the same step proves it again. */
    readonly undone?: readonly Opening[] | undefined
    /** What one later call each may use up. */
    readonly opened?: readonly Opening[] | undefined
  }
}

/**
 * All that a session remembers: plain JSON, bounded in size, and created only by `applyEvent`.
 * Records are keyed by untrusted names: read them with `lookUp`.
 */
/** A call about which the program asked a person, and was parked before the answer. */
export interface UnansweredCall {
  readonly tool: string
  readonly hash: string
  /** Until then it may be proposed once more, without another trigger: the person is still being asked. */
  readonly until: string
}

export interface SessionState {
  readonly agent: string | null
  readonly startedAt: string
  readonly status: SessionStatus
  /** When its holder ended the session. Absent until then, and again once it is recovered. */
  readonly endedAt?: string | undefined
  readonly stateVersion: number
  readonly controlRevision: number
  readonly fence: number
  readonly holderId: string
  readonly phase: string | null
  /** Committed calls by tool. */
  readonly committed: Readonly<Record<string, number>>
  /** Calls by tool that count against limits: allowed and not released. */
  readonly used: Readonly<Record<string, number>>
  /** The sum of `used`. */
  readonly usedCalls: number
  readonly totalCost: string
  readonly actualCost: string
  readonly highestCost: string
  /** Sum or count by aggregate name. What is kept per key, here and below, stands under `name#key`. */
  readonly aggregates: Readonly<Record<string, string>>
  readonly bindings: Readonly<Record<string, Fact>>
  readonly envelopes: Readonly<Record<string, string>>
  /** Precondition key -> true, or hashes of which a later call must repeat one. */
  readonly satisfied: Readonly<Record<string, true | readonly string[]>>
  /** The extremes of all values that an envelope without a key had. Absent, like the next two, until there is one. */
  readonly strictest?: Readonly<Record<string, Extremes>> | undefined
  /** Precondition key -> witness, or empty -> how many later calls it still opens. */
  readonly openings?: Readonly<Record<string, Readonly<Record<string, number>>>> | undefined
  /** `bindings.order_iban` -> how many keys the name has. */
  readonly keyCounts?: Readonly<Record<string, number>> | undefined
  /** The newest allowed calls, for loop detection. */
  readonly recent: readonly { readonly id: string; readonly tool: string; readonly hash: string }[]
  /** Times of allowed calls within the last minute, in milliseconds. */
  readonly recentTimes: readonly number[]
  readonly labels: readonly string[]
  readonly toolFilter: readonly string[] | null
  /** The tools that the session's role and handoff allow, none once the handoff has ended; null: no limit. */
  readonly offeredTools: readonly string[] | null
  readonly checkpointsTriggered: number
  /** Calls that a person has refused. Absent until there is one. */
  readonly refused?: readonly { readonly tool: string; readonly hash: string }[] | undefined
  /** Calls that were parked before the person whom their program asked had answered. Absent until there is one. */
  readonly unanswered?: readonly UnansweredCall[] | undefined
  /** Every checkpoint asks people. Absent: only those that say so. */
  readonly asks?: 'people' | undefined
  /** What people were asked. Absent until there is something. */
  readonly questions?: Questions | undefined
  readonly consecutiveBlocks: number
  readonly totalBlocks: number
  readonly consecutiveErrors: number
  readonly unguardedCalls: number
  readonly open: OpenStep | null
  readonly lastStep: CompletedStep | null
}

/** How far back `recentTimes` reaches. */
export const MINUTE_MS = 60_000

export type { EvidenceLevel, LedgerCall }
