import type { Plan, ReadResponse, SessionState } from '@countersign/engine'
import type {
  BlockReason,
  Decision,
  Flows,
  Gate,
  JsonValue,
  NarrowedTool,
  PendingCallView,
  ProposalCapture,
  Receipt,
  SessionStatus,
} from '@countersign/protocol'
import type { OfferedTool } from '../providers/provider.js'

/** Who decides about the calls of a session: the server, or the engine in this process. Both speak in these shapes. */
export interface Authority {
  readonly plan: Plan
  /** Results are hashed with this. */
  saltOf(by: DecidedBy): string
  /** Makes the session ready ahead of its first turn. May throw; the first turn then tries again. */
  open(): Promise<void>
  /** The session as this process knows it. Sends nothing. */
  current(): CurrentSession
  prepare(request: PreflightRequest): Promise<PreflightResult>
  judge(proposal: ProposalRequest): Promise<ProposalVerdict>
  /** A prepared turn ends without a proposal. */
  abandon(prepared: PreparedTurn): void
  /** Takes evidence. Never throws: what cannot be delivered now is delivered later. */
  settle(by: DecidedBy, evidence: readonly Evidence[]): Promise<void>
  /**
   * Throws when an allowed call may no longer run, and `ReplayUnavailableError` when that is unknown. An `exclusive` one
   * other processes may run, too: it is claimed first, and `NotOurs` says that another may be running it.
   */
  permit(call: DecidedCall, exclusive: boolean): Promise<void>
  /** The calls that wait for an outcome, whichever process proposed them; null where there is no other. */
  pending(): Promise<readonly PendingCallView[] | null>
  /** Takes effect here at once, and on the server as soon as it can be told. */
  control(change: Control): void
  facts(): AuthorityFacts
  /** Delivers what has not reached the server yet, as far as it can be reached. */
  flush(): Promise<void>
  /** No turn comes after this. `ends` says whether the session is over; by default it is unless others hold it, too. */
  close(ends?: boolean): Promise<void>
}

export interface CurrentSession {
  state(): SessionState
  /** What a request with these tools would be narrowed to at present. */
  narrow(tools: PreflightRequest['tools']): Narrowed
}

/** What a program changes in its session beside the turns. `bypass` names the method that was called directly. */
export type Control = Restriction | { readonly kill: KillCause } | { readonly bypass: string }
/** Null takes the filter away. */
export type Restriction = { readonly label: string } | { readonly filter: readonly string[] | null }

/** An allowed call. */
export interface DecidedCall {
  readonly by: DecidedBy
  readonly pendingCallId: string
  readonly argumentHash: string
  /** How long ago it was decided. */
  readonly ageMs: () => number
  /** By what a claim of it is known when it is made again; set by the first. */
  claimId?: string
}

/** The call is not this process's to run: another has claimed it, or it has an outcome. */
export class NotOurs extends Error {}

/** The server where it could be asked; otherwise this process. */
export type DecidedBy = 'server' | 'local'
export type KillCause = 'client' | 'breaker' | 'unguarded' | 'server' | 'store'

export interface PreflightRequest {
  readonly tools: readonly Pick<OfferedTool, 'name' | 'kind'>[]
  readonly provider: string
  readonly model: string
  /** Values of the request at the paths that the plan reads. */
  readonly inputs: Readonly<Record<string, JsonValue>>
  /** What the request says of calls that wait on the server and that this process does not know. Absent: it cannot. */
  readonly reported?: ((call: PendingCallView, salt: string) => Receipt) | undefined
}

/** The tools of a request after narrowing. */
export interface Narrowed {
  /** By name. */
  readonly allowed: readonly string[]
  /** Which were removed, and why. */
  readonly removed: readonly NarrowedTool[]
}

export type PreflightResult = PreparedTurn | BlockedTurn

export interface PreparedTurn {
  readonly outcome: 'prepared'
  readonly by: DecidedBy
  readonly preparedRequestId: string
  readonly request: PreflightRequest
  readonly allowed: readonly string[]
  readonly removed: readonly NarrowedTool[]
}

export interface BlockedTurn {
  readonly outcome: 'blocked'
  readonly by: DecidedBy
  readonly reason: BlockReason
  readonly detail: string | undefined
  readonly remedy: string
}

export interface ProposalRequest {
  readonly prepared: PreparedTurn
  /** As the model's client gave it. */
  readonly response: unknown
  /** The same once it was read. */
  readonly read: ReadResponse
  readonly gate: Gate
  readonly flows: Flows | undefined
  /** For the server, which captures the turn. */
  readonly capture?: ProposalCapture | undefined
  /** Ids by which a later request of the conversation can find the session. */
  readonly findBy?: readonly string[] | undefined
  /** Questions to people whose answers the calls use, by call. */
  readonly redeems?: ReadonlyMap<string, string> | undefined
  /** Whose arguments run: those that were judged, or, by default, the model's own, which no answer edits. */
  readonly runs?: 'judged' | 'own' | undefined
}

export interface ProposalVerdict {
  readonly by: DecidedBy
  readonly outcome: 'allowed' | 'partial' | 'blocked' | 'no_calls'
  readonly decisions: readonly Decision[]
}

export interface Evidence {
  readonly call: { readonly callId: string; readonly toolName: string }
  readonly receipt: Receipt
}

/** `untried`: it has been asked nothing yet. `down`: it did not answer last time. */
export type Connection = 'none' | 'untried' | 'up' | 'down'

export interface AuthorityFacts {
  readonly status: SessionStatus
  /** Another holder has the session now. */
  readonly lost: boolean
  /** What is known of the server; `none` where there is none to ask. */
  readonly connection: Connection
  /** Decisions are made here although there is a server. */
  readonly degradedLocal: boolean
  readonly undeliveredReceipts: number
  readonly inDoubt: number
  readonly unguardedCalls: number
  /** Failures of the server and of callbacks of the session, so far. */
  readonly errors: number
}
