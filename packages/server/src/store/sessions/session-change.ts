import type { Decision } from '@countersign/protocol'
import type { NewAuditEntry } from '../audit.js'
import type { QuestionChange } from '../questions/question-changes.js'
import type { NewContent } from './content.js'
import type { NewEvent } from './ledger.js'
import type { NewLateReceipt, NewReceipt } from './receipts.js'
import type { WorkflowChange } from './resource-holds.js'
import type { PreparedRequest, SessionHead, SessionRow } from './session-row.js'
import type { NewCount } from './shared-counts.js'
import type { StickyLabels } from './sticky-labels.js'
import type { UsedToken } from './used-tokens.js'

/** A change of a session, decided and not yet written: plain data for `writeChange`. */
export interface SessionChange {
  /** As it was when the change was decided; a new session as it begins. */
  readonly session: SessionRow
  /** The head as the change leaves it. */
  readonly head: SessionHead
  /** Chained to the session's ledger. Only a request that is prepared by itself has none. */
  readonly events: readonly NewEvent[]
  /** Set for a new session, with the plan that came along and the token that proves its principal. */
  readonly created?: { readonly upload: string | null; readonly token: UsedToken | null }
  /** The request that the change prepares. */
  readonly prepares?: PreparedRequest
  /** An unused request that is stored apart from the head from now on. */
  readonly superseded?: PreparedRequest | null
  /** Uses its prepared request up. */
  readonly proposal?: NewProposal
  readonly receipts?: readonly NewReceipt[]
  readonly lateReceipts?: readonly NewLateReceipt[]
  readonly content?: readonly NewContent[]
  readonly audit?: NewAuditEntry
  /** Ids of calls and responses by which the session can be found: sorted, each once. */
  readonly findBy?: readonly string[]
  /** What the change takes of limits that sessions share, or gives back. */
  readonly counts?: readonly NewCount[] | undefined
  readonly sticky?: StickyLabels | undefined
  /** Only under the session's lock. */
  readonly questions?: QuestionChange | undefined
  /** Only under the workflow's lock. */
  readonly workflow?: WorkflowChange | undefined
}

export interface NewProposal {
  /** Indexes of the decisions on calls whose tool has no contract. */
  readonly uncovered: readonly number[]
  readonly id: string
  readonly request: PreparedRequest
  readonly bodyHash: string
  readonly outcome: string
  readonly decisions: readonly Decision[]
  readonly cost: string
  readonly model: string | null
}
