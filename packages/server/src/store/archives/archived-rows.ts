import type { Fragment, Queryable, Tx } from '../../postgres/sql.js'

/** Sessions that are moved together: those of one file, all of one tenant, and every workflow whole. */
export interface Batch {
  readonly tenantId: string
  readonly sessionIds: readonly string[]
  readonly workflowIds: readonly string[]
}

interface ArchivedTable {
  readonly name: string
  /** Which rows `t` of the table belong to the batch. */
  readonly where: (sql: Queryable, batch: Batch) => Fragment
  /** A total order: the same rows always make the same lines. */
  readonly order: readonly string[]
}

const ofTenant = (sql: Queryable, { tenantId }: Batch) => sql`t.tenant_id = ${tenantId}`
const ofSessions = (sql: Queryable, batch: Batch) =>
  sql`${ofTenant(sql, batch)} and t.session_id = any (${[...batch.sessionIds]}::text[])`
const ofWorkflows = (sql: Queryable, batch: Batch) =>
  sql`${ofTenant(sql, batch)} and t.workflow_id = any (${[...batch.workflowIds]}::text[])`
const ofLedgers = (sql: Queryable, batch: Batch) => sql`${ofTenant(sql, batch)} and (
  (t.ledger = 'session' and t.id = any (${[...batch.sessionIds]}::text[]))
  or (t.ledger = 'workflow' and t.id = any (${[...batch.workflowIds]}::text[])))`

/** Of rows that are found by the time of their event. */
const atEvents = (sql: Queryable, batch: Batch) => sql`${ofSessions(sql, batch)} and t.at = any (array(
  select e.at from session_events e
  where e.tenant_id = ${batch.tenantId} and e.session_id = any (${[...batch.sessionIds]}::text[])))`

/**
 * What is moved, in the order of the file: who reads a ledger knows its plan, its head and what was signed before its first
 * event. Ids of conversations (`findable_ids`), used tokens, captures and marks of erasures stay until their retention ends.
 */
export const ARCHIVED_TABLES: readonly ArchivedTable[] = [
  { name: 'workflows', where: ofWorkflows, order: ['workflow_id'] },
  { name: 'sessions', where: ofSessions, order: ['session_id'] },
  { name: 'session_heads', where: ofSessions, order: ['session_id'] },
  { name: 'signed_heads', where: ofLedgers, order: ['ledger', 'id'] },
  { name: 'workflow_events', where: ofWorkflows, order: ['workflow_id', 'seq'] },
  { name: 'session_events', where: ofSessions, order: ['session_id', 'seq'] },
  { name: 'handoffs', where: ofWorkflows, order: ['workflow_id', 'handoff_id'] },
  {
    name: 'resource_holds',
    where: ofSessions,
    order: ['session_id', 'workflow_id', 'pending_call_id', 'key_hash'],
  },
  { name: 'receipts', where: ofSessions, order: ['session_id', 'pending_call_id'] },
  { name: 'late_receipts', where: ofSessions, order: ['session_id', 'pending_call_id', 'number'] },
  { name: 'superseded_requests', where: ofSessions, order: ['session_id', 'prepared_request_id'] },
  { name: 'content', where: ofSessions, order: ['session_id', 'kind', 'ref'] },
  { name: 'questions', where: ofSessions, order: ['session_id', 'question_id'] },
  {
    name: 'deliveries',
    where: (sql, batch) => sql`${ofTenant(sql, batch)} and t.question_id in (
      select q.question_id from questions q
      where q.tenant_id = ${batch.tenantId} and q.session_id = any (${[...batch.sessionIds]}::text[]))`,
    order: ['question_id', 'kind', 'channel', 'recipient'],
  },
  { name: 'answers', where: ofSessions, order: ['session_id', 'question_id', 'seq'] },
  { name: 'blocked_proposals', where: atEvents, order: ['session_id', 'seq', 'at'] },
  { name: 'stopped_calls', where: atEvents, order: ['session_id', 'at', 'proposal_id', 'call_index'] },
  { name: 'unanswered_calls', where: atEvents, order: ['session_id', 'seq', 'call_index', 'at'] },
  { name: 'session_facets', where: ofSessions, order: ['session_id', 'kind', 'value', 'created_at'] },
]

/** Plans go along, since a ledger is judged by its own, and stay: other sessions have them too. */
export const PLANS = 'plans'

/** A row as PostgreSQL writes it: no number or time is converted by JavaScript. */
export interface ArchivedRow {
  readonly table: string
  readonly json: string
}

/** Rows read at once. Those of content have up to 4 MB, all others some kilobytes. */
const READ_ROWS = 100
const READ_CONTENT = 4

/** The rows of a batch, some at a time. */
export async function* readArchivedRows(tx: Tx, batch: Batch): AsyncGenerator<ArchivedRow, undefined> {
  const plans = tx<{ row: string }[]>`
    select to_json(t)::text as row from plans t
    where t.tenant_id = ${batch.tenantId} and t.compiled_hash in (
      select s.compiled_hash from sessions s
      where s.tenant_id = ${batch.tenantId} and s.session_id = any (${[...batch.sessionIds]}::text[]))
    order by t.compiled_hash collate "C"`
  for await (const rows of plans.cursor(1)) for (const { row } of rows) yield { table: PLANS, json: row }
  for (const { name, where, order } of ARCHIVED_TABLES) {
    const found = tx<{ row: string }[]>`
      select to_json(t)::text as row from ${tx(name)} t where ${where(tx, batch)} order by ${orderOf(tx, order)}`
    for await (const rows of found.cursor(name === 'content' ? READ_CONTENT : READ_ROWS))
      for (const { row } of rows) yield { table: name, json: row }
  }
}

/** Independent of the language of the database. */
function orderOf(sql: Queryable, columns: readonly string[]): Fragment {
  const [first, ...rest] = columns.map((name) => (isText(name) ? sql`t.${sql(name)} collate "C"` : sql`t.${sql(name)}`))
  if (first === undefined) throw new Error('a table has no order')
  return rest.reduce((before, next) => sql`${before}, ${next}`, first)
}

const NOT_TEXT: ReadonlySet<string> = new Set(['seq', 'at', 'created_at', 'number', 'call_index'])
const isText = (column: string): boolean => !NOT_TEXT.has(column)

/** No head is signed until the transaction ends: one that is signed now would outlive its ledger. */
export async function holdSigning(tx: Tx): Promise<void> {
  await tx`select 1 from ledger_signing for share`
}

/** Holds the sessions and workflows of a batch, in the order in which everybody does. How many there are. */
export async function lockBatch(tx: Tx, batch: Batch): Promise<number> {
  const workflows = await tx`
    select 1 from workflows t where ${ofWorkflows(tx, batch)} order by t.workflow_id collate "C" for update`
  const sessions = await tx`
    select 1 from session_heads t where ${ofSessions(tx, batch)} order by t.session_id collate "C" for update`
  return workflows.length + sessions.length
}

/** Removes the rows of a batch, those last by which others are found. */
export async function deleteArchivedRows(tx: Tx, batch: Batch): Promise<void> {
  for (const { name, where } of [...ARCHIVED_TABLES].reverse()) {
    await tx`delete from ${tx(name)} t where ${where(tx, batch)}`
  }
}
