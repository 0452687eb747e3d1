import type { CaptureItem, Input, MailDelivery, Reply, Route, RouteName, Routes } from '@countersign/protocol'
import type { JWTVerifyGetKey } from 'jose'
import type { Config } from '../base/config.js'
import type { DeviceTokens } from '../base/crypto/device-tokens.js'
import type { LedgerSigner } from '../base/crypto/ledger-keys.js'
import type { OidcFlows } from '../base/crypto/oidc-flows.js'
import type { Passwords } from '../base/crypto/passwords.js'
import type { SealedSecrets } from '../base/crypto/sealed-secrets.js'
import type { Random } from '../base/crypto/secrets.js'
import type { AccessTokens } from '../base/crypto/tokens.js'
import type { Log } from '../base/log.js'
import type { Memories } from '../base/memories.js'
import type { Metrics } from '../base/metrics.js'
import type { OidcClient } from '../base/oidc-client.js'
import type { Database } from '../postgres/database.js'
import type { SignIn } from '../store/accounts/refresh-tokens.js'
import type { SessionRow } from '../store/sessions/session-row.js'
import type { KeyProof } from '../store/sessions/write-functions.js'
import type { HttpRequest } from './http-request.js'
import type { Isolation } from './isolation.js'
import type { PlanCache } from './plan-cache.js'
import type { ReplyHeaders } from './reply-headers.js'
import type { SessionCache } from './session-cache.js'
import type { OfferedTool, ReadCaptures, ReadRun, TaskThread } from './tasks.js'
import type { Tenant } from './tenant.js'
import type { WrittenReply } from './written-reply.js'

/** What lives as long as the process. Time, chance and the store arrive here and nowhere else. */
export interface Services {
  readonly config: Config
  readonly database: Database
  readonly log: Log
  readonly metrics: Metrics
  /** Everything below that remembers is opened here. */
  readonly memories: Memories
  readonly plans: PlanCache
  readonly sessions: SessionCache
  readonly captures: CaptureRecorder
  readonly offeredTools: OfferedMemory
  /** For what jobs compute. */
  readonly thread: TaskThread
  /** On the thread that answers requests, which gives up what may take long. */
  readonly isInPlace: boolean
  /** For requests that take more than a few milliseconds. */
  readonly isolation: Isolation
  /** Begins with the backtests that wait, beside whatever else is done. */
  readonly judgeRuns: () => void
  readonly clock: () => Date
  readonly random: Random
  /** Where users reach the service, for links. */
  readonly publicUrl: () => string
  readonly accounts: Accounts
  readonly issuerKeys: IssuerKeys
  /** Null: no key is configured, and heads of ledgers stay unsigned. */
  readonly ledgerSigner: LedgerSigner | null
  /** False while the server drains. */
  readonly isReady: () => boolean
  /** Why this instance must decide and delete nothing now, or null: the database is newer than it, or its clock is wrong. */
  readonly stopReason: () => string | null
}

/** The public keys of the issuers of principal tokens, as they were last read from their addresses. */
export interface IssuerKeys {
  /** Throws `UnreachableAddress`. */
  at(jwksUri: string): Promise<PublicKeys>
  /** Reads them again for a key that is not among them: not at once if that was done lately. */
  renewed(jwksUri: string): Promise<PublicKeys>
}

/** Finds the key that a token names. */
export type PublicKeys = JWTVerifyGetKey

/** Captures of governed sessions, which the server makes itself: written in batches, so that no proposal waits for it. */
export interface CaptureRecorder {
  note(tenantId: string, item: CaptureItem): void
  /** Writes what was noted, now. */
  flush(): Promise<void>
  /** Writes what was noted and stops. */
  close(): Promise<void>
}

/** The tools that this instance has written down already. A program offers the same ones with every request. */
export interface OfferedMemory {
  /** Those that are new, or new in their schema. */
  unknown(tools: readonly OfferedTool[]): OfferedTool[]
  remember(tools: readonly OfferedTool[]): void
}

export interface MailWorker {
  /** Looks at the queue soon; never waits. */
  wake(): void
  /** Waits until nothing is due any more. */
  idle(): Promise<void>
  /** Hands one mail over, now, past the queue. Rejects when it should be tried again. */
  send(to: string, message: MailMessage, reference: string): Promise<void>
  close(): Promise<void>
}

export interface MailMessage {
  readonly subject: string
  readonly text: string
  readonly html: string
  /** What the mail is about: it may be a credential, and is never logged. */
  readonly link: string
}

/** What the account operations need beside the store. */
export interface Accounts {
  readonly passwords: Passwords
  readonly accessTokens: AccessTokens
  readonly deviceTokens: DeviceTokens
  readonly oidcFlows: OidcFlows
  /** Of webhooks. */
  readonly sealedSecrets: SealedSecrets
  readonly oidcClients: readonly OidcClient[]
  /** Cookies are Secure and bound to the host. */
  readonly secureCookies: boolean
  readonly mail: MailWorker
  /** How a mail reaches its reader, for the text that people see. */
  readonly mailDelivery: MailDelivery
}

/** One request, of a person or a key. */
export interface RequestScope {
  readonly id: string
  readonly http: HttpRequest
  /** Writes the request's id with every line. */
  readonly log: Log
  /** The caller's address: of the connection, or as a trusted proxy says. */
  readonly clientAddress: string
  /** Headers of the reply; cookies are appended here. */
  readonly replyHeaders: ReplyHeaders
}

/** What an operation that needs no sign-in gets. Nested, never spread: a copy of every field would cost every request. */
export interface OpenContext {
  readonly app: Services
  readonly request: RequestScope
}

/** What an operation of a tenant gets. It writes by `inTransaction` and `inStatement`. */
export interface Context extends OpenContext {
  readonly tenant: Tenant
  /** Null for a program. */
  readonly signIn: SignIn | null
  /** The session of the path, read together with the key. Null: it is not there, or the route reads none. */
  readonly session: SessionRow | null
  /** Set where the key is still to be checked. Then `session` is what this process wrote last. */
  readonly recentKey: RecentKey | null
}

/**
 * A request that was let in on a recently authenticated key (decision 0005). The write of its change re-checks the key;
 * where nothing is written, the request enters again like any other, and what was decided before is decided again.
 */
export interface RecentKey {
  /** What the write checks. */
  readonly proof: KeyProof
  /** Set once the write has checked the key, or the request has entered again. */
  isChecked: boolean
  /** Authenticates the key. 401, 403 and 429 come from here. */
  readonly enter: () => Promise<Context>
}

/** What an operation of the dashboard gets: a tenant's, with a signed-in person. */
export interface UserContext extends Context {
  readonly signIn: SignIn
}

type ContextOf<R extends Route> = R['auth'] extends 'api_key'
  ? Context
  : R['auth'] extends 'cookie'
    ? UserContext
    : OpenContext

export type Handler<R extends Route> = (ctx: ContextOf<R>, input: Input<R>) => Promise<Answer<R>>

type Answer<R extends Route> = Reply<R> | WrittenReply<Reply<R>>

/** Bodies that their room reads itself: what the handler gets of them. */
export interface ReadBodies {
  readonly ingestCaptures: ReadCaptures
  readonly createRun: ReadRun
}

export type BodyReaders = {
  readonly [Name in keyof ReadBodies]: (sent: {
    readonly body: Uint8Array
    readonly tenantId: string
  }) => ReadBodies[Name]
}

export type Handlers = {
  readonly [Name in RouteName]: Name extends keyof ReadBodies
    ? (ctx: Context, input: { readonly body: ReadBodies[Name] }) => Promise<Answer<Routes[Name]>>
    : Handler<Routes[Name]>
}
