import type { ChainedWorkflowEvent, LedgerHead, WorkflowDefinition } from '@countersign/protocol'
import { databaseFunction } from '../../postgres/database-function.js'
import type { Queryable } from '../../postgres/sql.js'

export interface WorkflowRow {
  readonly tenantId: string
  readonly workflowId: string
  readonly status: 'ACTIVE' | 'KILLED'
  readonly definitionHash: string
  readonly keySalt: string
  readonly ledger: LedgerHead
  readonly createdAt: Date
  /** `clock_timestamp()` of the statement that read the row. */
  readonly now: Date
}

export interface NewWorkflow extends Omit<WorkflowRow, 'status' | 'ledger' | 'now'> {
  readonly definition: WorkflowDefinition
}

/** Opens a workflow with an empty ledger. False when the id is taken, also by one in an archive. */
export async function insertWorkflow(sql: Queryable, workflow: NewWorkflow): Promise<boolean> {
  const rows = await sql`
    insert into workflows (
      tenant_id, workflow_id, definition, definition_hash, key_salt, ledger_seq, ledger_hash, created_at
    )
    select ${workflow.tenantId}, ${workflow.workflowId}, ${JSON.stringify(workflow.definition)}::text::json,
      ${workflow.definitionHash}, ${workflow.keySalt}, 0, '', ${workflow.createdAt}::timestamptz
    where not exists (
      select from archived_ledgers
      where tenant_id = ${workflow.tenantId} and id = ${workflow.workflowId} and ledger = 'workflow'
    )
    on conflict do nothing returning 1`
  return rows.length === 1
}

/**
 * Holds the workflow's row until the transaction ends. False when the tenant has no such workflow.
 * What is read must be read by a later statement: this one may have waited, and its snapshot is from before the wait.
 */
export async function lockWorkflow(tx: Queryable, tenantId: string, workflowId: string): Promise<boolean> {
  const rows = await tx`
    select 1 from workflows where tenant_id = ${tenantId} and workflow_id = ${workflowId} for update`
  return rows.length === 1
}

/** Takes the lock only if it is free. */
export async function tryLockWorkflow(tx: Queryable, tenantId: string, workflowId: string): Promise<boolean> {
  const rows = await tx`
    select 1 from workflows where tenant_id = ${tenantId} and workflow_id = ${workflowId} for update skip locked`
  return rows.length === 1
}

/** The lock of the workflow that a session is in. False when it is in none. */
export async function lockWorkflowOfSession(tx: Queryable, tenantId: string, sessionId: string): Promise<boolean> {
  const rows = await tx`
    select 1 from workflows
    where tenant_id = ${tenantId} and workflow_id = (
      select workflow_id from sessions where tenant_id = ${tenantId} and session_id = ${sessionId}
    ) for update`
  return rows.length === 1
}

/** Without its definition, which may have a megabyte. */
export async function loadWorkflow(sql: Queryable, tenantId: string, workflowId: string): Promise<WorkflowRow | null> {
  const [row] = await sql<(Omit<WorkflowRow, 'ledger'> & { ledgerSeq: number; ledgerHash: string })[]>`
    select tenant_id, workflow_id, status, definition_hash, key_salt, ledger_seq, ledger_hash, created_at,
      clock_timestamp() as now
    from workflows where tenant_id = ${tenantId} and workflow_id = ${workflowId}`
  if (!row) return null
  const { ledgerSeq: seq, ledgerHash: hash, ...rest } = row
  return { ...rest, ledger: { seq, hash } }
}

export async function loadDefinition(
  sql: Queryable,
  { tenantId, workflowId }: Pick<WorkflowRow, 'tenantId' | 'workflowId'>,
): Promise<WorkflowDefinition> {
  const [row] = await sql<{ text: string }[]>`
    select definition::text as text from workflows where tenant_id = ${tenantId} and workflow_id = ${workflowId}`
  if (row === undefined) throw new Error('a locked workflow is gone')
  return JSON.parse(row.text)
}

/** An event on its way into the workflow's ledger. */
export type NewWorkflowEvent = Omit<ChainedWorkflowEvent, 'workflow_id'>

/** Appends events to the ledger of a workflow. False when it was written since it was read. */
export async function appendWorkflowEvents(
  tx: Queryable,
  workflow: WorkflowRow,
  events: readonly NewWorkflowEvent[],
): Promise<boolean> {
  const head = events.at(-1)
  if (head === undefined) return true
  const status = events.some(({ type }) => type === 'killed') ? 'KILLED' : workflow.status
  return appendWorkflow(tx, {
    tenant: workflow.tenantId,
    workflow: workflow.workflowId,
    known: workflow.ledger.seq,
    status,
    seq: head.seq,
    hash: head.hash,
    events: JSON.stringify(events),
  })
}

export const appendWorkflow = databaseFunction(
  'append_workflow',
  { tenant: 'text', workflow: 'text', known: 'bigint', status: 'text', seq: 'bigint', hash: 'text', events: 'json' },
  'boolean',
)

/** Events in order, up to and with `upTo`, as many as fit into `maxBytes`; one comes in any case. */
export async function loadWorkflowEvents(
  sql: Queryable,
  page: { tenantId: string; workflowId: string; after: number; upTo: number; limit: number; maxBytes: number },
): Promise<ChainedWorkflowEvent[]> {
  const rows = await sql<(Omit<ChainedWorkflowEvent, 'workflow_id' | 'at'> & { at: Date; prevHash: string })[]>`
    select seq, type, at, body, prev_hash, hash from (
      select *, sum(octet_length(body::text)) over (order by seq) - octet_length(body::text) as bytes_before from (
        select seq, type, at, body, prev_hash, hash from workflow_events
        where tenant_id = ${page.tenantId} and workflow_id = ${page.workflowId}
          and seq > ${page.after} and seq <= ${page.upTo}
        order by seq limit ${page.limit}
      ) as page
    ) as measured
    where bytes_before < ${page.maxBytes} order by seq`
  return rows.map(({ seq, type, at, body, prevHash, hash }) => ({
    workflow_id: page.workflowId,
    seq,
    type,
    at: at.toISOString(),
    body,
    prev_hash: prevHash,
    hash,
  }))
}

/** The ids of the workflow's sessions, in the order in which they are locked. */
export async function listSessionsOfWorkflow(
  sql: Queryable,
  { tenantId, workflowId }: Pick<WorkflowRow, 'tenantId' | 'workflowId'>,
): Promise<string[]> {
  const rows = await sql<{ sessionId: string }[]>`
    select session_id from sessions
    where tenant_id = ${tenantId} and workflow_id = ${workflowId} order by session_id collate "C"`
  return rows.map(({ sessionId }) => sessionId)
}
