import type { SessionState } from '@countersign/engine'
import type {
  BlockReason,
  CaptureLevel,
  ContractFailure,
  Environment,
  JsonValue,
  LedgerHead,
  NarrowedTool,
  NarrowingSnapshot,
  PrincipalProof,
  UnmatchedPolicy,
} from '@countersign/protocol'

/** A session as it is stored: what was fixed when it was created, and what its last write left. */
export interface SessionRow {
  readonly fixed: FixedSession
  readonly head: SessionHead
  /** `clock_timestamp()` of the statement that read the row. */
  readonly now: Date
}

/** Written once. Only an erasure changes it, which takes the principal away under a new revision of the head. */
export interface FixedSession {
  readonly tenantId: string
  readonly sessionId: string
  readonly compiledHash: string
  readonly planSource: 'approved' | 'client'
  readonly unmatchedPolicy: UnmatchedPolicy
  readonly captureLevel: CaptureLevel
  readonly environment: Environment | null
  readonly principal: JsonValue
  /** Null where it has none, and in sessions of earlier versions. */
  readonly principalProof: PrincipalProof | null
  readonly hashSalt: string
  /** The tenant's, for limits that sessions share and for labels that stick; null where the plan has neither. */
  readonly limitSalt: string | null
  readonly workflowId: string | null
  readonly role: string | null
  readonly bodyHash: string
  readonly createdAt: Date
}

/** Replaced by every write. */
export interface SessionHead {
  /** The hash of what was written last; every write names the one that it was decided on. */
  readonly revision: string
  readonly leaseUntil: Date
  /** How long it was when it was given. */
  readonly leaseMs: number
  readonly state: SessionState
  readonly lastNarrowing: NarrowingSnapshot | null
  /** The newest prepared request with tools while it is unused. */
  readonly prepared: PreparedRequest | null
  /** Whether prepared requests were ever stored apart: those without tools, and those that a newer one superseded. */
  readonly hasSuperseded: boolean
  readonly ledger: LedgerHead
  readonly lastEvent: string
  /** Of all its proposals. */
  readonly allowedCalls: number
  readonly blockedCalls: number
  /** Why the last call was blocked. */
  readonly lastReason: BlockReason | null
}

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
