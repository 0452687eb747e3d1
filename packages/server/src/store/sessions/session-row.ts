import type { SessionState } from '@countersign/engine'
import type {
  CaptureLevel,
  ContractFailure,
  Environment,
  JsonValue,
  LedgerHead,
  NarrowedTool,
  NarrowingSnapshot,
  UnmatchedPolicy,
} from '@countersign/protocol'

/** A session as it is stored, and the database's time when it was read. */
export interface SessionRow {
  readonly tenantId: string
  readonly sessionId: string
  /** The hash of what was written last; every write names the one that it was decided on. */
  readonly stamp: string
  readonly leaseUntil: Date
  readonly compiledHash: string
  readonly planSource: 'approved' | 'client'
  readonly unmatchedPolicy: UnmatchedPolicy
  readonly captureLevel: CaptureLevel
  readonly environment: Environment | null
  readonly principal: JsonValue
  readonly hashSalt: string
  readonly state: SessionState
  readonly lastNarrowing: NarrowingSnapshot | null
  /** The newest prepared request with tools while it is unused. */
  readonly prepared: PreparedRequest | null
  /** Whether others were ever set aside: those without tools, and those that a newer one made void. */
  readonly hasAside: boolean
  readonly ledger: LedgerHead
  readonly lastEvent: string
  /** Of all its proposals. */
  readonly allowedCalls: number
  readonly blockedCalls: number
  /** Why the last call was blocked. */
  readonly lastReason: string | null
  readonly workflowId: string | null
  readonly role: string | null
  readonly bodyHash: string
  readonly createdAt: Date
  /** `clock_timestamp()` of the statement that read the row. */
  readonly now: Date
}

/** A row that may be changed. Field by field: a spread of one so wide takes ten times as long, several times a turn. */
export const copyRow = (row: SessionRow): { -readonly [Field in keyof SessionRow]: SessionRow[Field] } => ({
  tenantId: row.tenantId,
  sessionId: row.sessionId,
  stamp: row.stamp,
  leaseUntil: row.leaseUntil,
  compiledHash: row.compiledHash,
  planSource: row.planSource,
  unmatchedPolicy: row.unmatchedPolicy,
  captureLevel: row.captureLevel,
  environment: row.environment,
  principal: row.principal,
  hashSalt: row.hashSalt,
  state: row.state,
  lastNarrowing: row.lastNarrowing,
  prepared: row.prepared,
  hasAside: row.hasAside,
  ledger: row.ledger,
  lastEvent: row.lastEvent,
  allowedCalls: row.allowedCalls,
  blockedCalls: row.blockedCalls,
  lastReason: row.lastReason,
  workflowId: row.workflowId,
  role: row.role,
  bodyHash: row.bodyHash,
  createdAt: row.createdAt,
  now: row.now,
})

/** A request that was prepared for a model call, with what it is bound to. */
export interface PreparedRequest {
  readonly id: string
  readonly bound: { readonly state_version: number; readonly control_revision: number; readonly fence: number }
  readonly compiledHash: string
  readonly requestHash: string
  readonly withTools: boolean
  readonly allowed: readonly string[]
  readonly removed: readonly NarrowedTool[]
  /** By tool, without the values found. Null: every input invariant held. */
  readonly inputFailures: readonly { readonly tool: string; readonly failures: readonly ContractFailure[] }[] | null
  readonly provider: string | null
  readonly model: string | null
  readonly digest: string
  readonly preparedAt: string
  readonly expiresAt: string
}
