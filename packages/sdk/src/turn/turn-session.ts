import type { ReadResponse } from '@countersign/engine'
import type { Decision, Flows, NarrowedTool } from '@countersign/protocol'
import type { Authority, DecidedBy, PreparedTurn } from '../authority/authority.js'
import type { OpenCalls } from '../authority/open-calls.js'
import type { EnforcementDecision } from '../base/errors.js'
import type { JsonObject } from '../base/json-object.js'
import type { Conversations, OpenRequest } from '../clients/conversations.js'
import type { ReplaySettings } from '../options/replay-settings.js'
import type { OfferedTool, Provider, RequestView } from '../providers/provider.js'
import type { Approver } from './checkpoints.js'
import type { Continuations } from './continuations.js'
import type { Trace } from './trace.js'
import type { ModelAnswer } from './turn-hooks.js'
import type { TurnQueue } from './turn-queue.js'

/** What a turn needs of its session. */
export interface TurnSession {
  readonly settings: ReplaySettings
  readonly openCalls: OpenCalls
  readonly queue: TurnQueue
  readonly conversations: Conversations
  readonly continuations: Continuations
  /** Flows are needed: for captures, for the server, or for contracts with `sources`. */
  followsConversations(): boolean
  readonly approver: Approver
  authority(): Authority
  stance(by: DecidedBy): Stance
  /** Nothing has to be waited for before a turn. */
  isReady(): boolean
  /** Waits until it is known who judges. Throws when nobody can and that blocks. */
  ready(): Promise<void>
  /** Throws when the session was killed or restored. */
  assertUsable(): void
  /** Throws when a constraint forbids this model. */
  checkProvider(provider: string, model: string): void
  deliver(): Promise<void>
  readonly notes: TurnNotes
}

/** What a verdict does: it binds, it is reported, it is recorded, or there is none. */
export type Stance = 'enforce' | 'advise' | 'shadow' | 'log'

/** Where a turn leaves what the program may ask for later. */
export interface TurnNotes {
  narrowed(allowed: readonly OfferedTool[], removed: readonly NarrowedTool[]): void
  blocked(decision: EnforcementDecision): void
  /** What would have been removed and blocked, in a session that only watches or advises. */
  watched(stance: Stance, removed: readonly NarrowedTool[], decisions: readonly Decision[]): void
  /** A call was answered without evidence: its wrapper did not run it, or it has none and the contract asks for it. */
  unproven(toolName: string, isWrapped: boolean): void
  /** A newer turn began before these tools ran for their calls. */
  gaveUp(tools: readonly string[]): void
  /** A turn waits for wrapped tools that do not end. */
  toolWaits(tools: readonly string[]): void
  traced(trace: Trace): void
  failed(error: unknown): void
  answered(turn: AnsweredTurn): void
}

export interface AnsweredTurn {
  readonly provider: Provider
  readonly view: RequestView
  readonly answer: ModelAnswer
  readonly response: ReadResponse
  readonly opened: OpenRequest
  readonly flows: Flows
  readonly stance: Stance
  readonly decisions: readonly Decision[]
  readonly by: DecidedBy | null
}

/** A request on its way through a turn. */
export interface TurnRequest {
  readonly request: JsonObject
  readonly view: RequestView
  readonly trace: Trace
  /** Null where nobody asks what came from where. */
  readonly opened: OpenRequest | null
  /** Null until preflight, and where nobody judges. */
  prepared: PreparedTurn | null
}

/** Verdicts can stop a call in this session, whoever gives them. */
export const binds = (session: TurnSession): boolean =>
  session.stance('local') === 'enforce' || session.stance('server') === 'enforce'
