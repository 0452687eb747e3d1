import type { CaptureItem, RouteName } from '@countersign/protocol'
import type { ApiError } from '../base/api-error.js'
import type { Counted } from '../base/metrics.js'
import type { SignIn } from '../store/accounts/refresh-tokens.js'
import type { UsedPlan } from './plans-in-place.js'
import type { Tenant } from './tenant.js'

/** What a caller asks of a route. Plain data: it goes to a thread as it is. */
export interface Asked {
  readonly route: RouteName
  readonly params: Readonly<Record<string, string>>
  /** With its question mark; empty without one. */
  readonly query: string
  /** Null: none was sent. */
  readonly body: Uint8Array | null
}

/** Threads for requests that are not answered in place: the same handlers, with connections of their own to the database. */
export interface Isolation {
  /** The reply as JSON. 422 where it took too long or too much memory, 429 and 503 where too many wait. */
  answer(request: IsolatedRequest, options: IsolationOptions): Promise<Buffer>
  /** Starts threads, so that the first request does not wait for one. */
  warm(): void
  close(): Promise<void>
}

export interface IsolationOptions {
  /** Reading, comparing and listing: it may take seconds, and waits for its kind alone. */
  readonly isSlow: boolean
  /** It is not refused, however many wait. */
  readonly isAdmitted: boolean
}

/** A request as a thread gets it. */
export interface IsolatedRequest extends Asked {
  readonly requestId: string
  readonly clientAddress: string
  readonly publicUrl: string
  readonly tenant: Tenant
  /** Null for a program. */
  readonly signIn: SignIn | null
}

/** What comes back, whether the request was answered or refused. */
export interface IsolatedReply {
  readonly outcome: { readonly body: Uint8Array } | { readonly refusal: Pick<ApiError, 'code' | 'extras' | 'headers'> }
  /** For the metrics of the process. */
  readonly counted: readonly Counted[]
  /** For its recorder. */
  readonly captures: readonly CaptureItem[]
  /** Plans by which the requests that follow may be judged in place. */
  readonly plans: readonly UsedPlan[]
  /** A backtest waits now. */
  readonly runWaits: boolean
}
