import type { Outcome } from '@countersign/protocol'
import type { Queryable, Tx } from '../../postgres/sql.js'
import { across } from '../across-tenants.js'

/** An agent that this instance learns about. It holds until `LEARNING_CLAIM` is over, or until it is released. */
export interface LearningClaim {
  readonly tenantId: string
  readonly agent: string
  readonly salt: string
  readonly claimId: string
}

/** Longer than one batch takes. After it another instance may go on, and this one writes nothing any more. */
export const LEARNING_CLAIM = '60 seconds'

/** The next tenant after this one that has captures to learn from. Of each tenant one batch is looked at. */
export async function findWaitingTenant(sql: Queryable, after: string): Promise<string | null> {
  const [found] = await sql<{ tenantId: string }[]>`
    ${across(sql, 'unlearned captures')} select t.tenant_id from tenants t cross join lateral (
      select due_at from unlearned_captures u where u.tenant_id = t.tenant_id order by u.tenant_id, u.due_at limit 1
    ) as first
    where t.tenant_id > ${after} and first.due_at <= statement_timestamp() order by t.tenant_id limit 1`
  return found?.tenantId ?? null
}

/** An agent that was claimed, or how far the search for one came. */
export interface AgentSearch {
  readonly claim: LearningClaim | null
  /** The agent after which the next search begins. Null: there are no more. */
  readonly reached: string | null
}

/** Agents that one search looks at: some ten milliseconds. A tenant may have any number that wait for receipts. */
export const MOST_AGENTS = 1_000

/** Claims the next agent after this one, by name, that has captures to learn from and that no other instance has. */
export async function claimAgent(
  sql: Queryable,
  { tenantId, after, claimId }: { tenantId: string; after: string; claimId: string },
): Promise<AgentSearch> {
  const [found] = await sql<{ due: string[] | null; reached: string | null }[]>`
    with recursive waiting as (
      (select agent, due_at, 1 as place from unlearned_captures where tenant_id = ${tenantId} and agent > ${after}
       order by agent, due_at limit 1)
      union all
      select next.*, w.place + 1 from waiting w cross join lateral (
        select agent, due_at from unlearned_captures u where u.tenant_id = ${tenantId} and u.agent > w.agent
        order by u.agent, u.due_at limit 1
      ) next
      where w.place < ${MOST_AGENTS}
    )
    select array_agg(agent order by agent) filter (where due_at <= clock_timestamp()) as due,
      max(agent) filter (where place = ${MOST_AGENTS}) as reached
    from waiting`
  const { due, reached } = found ?? { due: null, reached: null }
  if (due === null) return { claim: null, reached }
  const [claim] = await sql<LearningClaim[]>`
    update learned_agents
    set claim_id = ${claimId}, claimed_until = statement_timestamp() + ${LEARNING_CLAIM}::interval
    where tenant_id = ${tenantId} and agent = (
      select agent from learned_agents
      where tenant_id = ${tenantId} and agent = any (${due}::text[])
        and (claimed_until is null or claimed_until < statement_timestamp())
      order by agent limit 1 for update skip locked
    )
    returning tenant_id, agent, salt, claim_id`
  return claim === undefined ? { claim: null, reached } : { claim, reached: claim.agent }
}

/** Keeps the claim for another while, if it is still this instance's. */
export async function renewLearningClaim(sql: Queryable, { tenantId, agent, claimId }: LearningClaim): Promise<void> {
  await sql`
    update learned_agents set claimed_until = statement_timestamp() + ${LEARNING_CLAIM}::interval
    where tenant_id = ${tenantId} and agent = ${agent} and claim_id = ${claimId}`
}

export async function releaseAgent(sql: Queryable, { tenantId, agent, claimId }: LearningClaim): Promise<void> {
  await sql`
    update learned_agents set claim_id = null, claimed_until = null
    where tenant_id = ${tenantId} and agent = ${agent} and claim_id = ${claimId}`
}

/** Locks the claimed agent until the transaction ends. False when the claim is over: nothing may be written then. */
export async function holdClaim(tx: Tx, { tenantId, agent, claimId }: LearningClaim): Promise<boolean> {
  const rows = await tx`
    select 1 from learned_agents where tenant_id = ${tenantId} and agent = ${agent} and claim_id = ${claimId}
    for update`
  return rows.length === 1
}

/** Captures that came together and wait together. */
export interface WaitingBatch {
  /** As text: PostgreSQL's times are finer than a Date. */
  readonly dueAt: string
  readonly firstId: string
  readonly captureIds: string[]
  readonly attempts: number
  readonly error: string | null
}

/** The batches of an agent that have waited longest, until they come to `atLeast` captures. */
export function listWaitingBatches(
  sql: Queryable,
  { tenantId, agent }: LearningClaim,
  atLeast: number,
): Promise<WaitingBatch[]> {
  return sql<WaitingBatch[]>`
    select due_at::text, first_id, capture_ids, attempts, error from (
      select due_at, first_id, capture_ids, attempts, error, captures,
        sum(captures) over (order by due_at, first_id) as captures_so_far
      from (
        select * from unlearned_captures
        where tenant_id = ${tenantId} and agent = ${agent} and due_at <= clock_timestamp()
        order by due_at, first_id limit ${atLeast}
      ) due
    ) counted
    where captures_so_far - captures < ${atLeast}
    order by due_at, first_id`
}

/** Batches of a tenant that are counted. */
const MOST_BATCHES = 10_000

/** By agent, how many captures of a tenant wait to be learned from; of very many, those that have waited longest. */
export function countWaitingCaptures(sql: Queryable, tenantId: string): Promise<{ agent: string; captures: number }[]> {
  return sql<{ agent: string; captures: number }[]>`
    select agent, sum(captures)::int as captures from (
      select agent, captures from unlearned_captures where tenant_id = ${tenantId}
      order by tenant_id, due_at limit ${MOST_BATCHES}
    ) as waiting
    group by agent order by agent limit 200`
}

type BatchKey = Pick<WaitingBatch, 'dueAt' | 'firstId'>

const keysOf = (batches: readonly BatchKey[]): string =>
  JSON.stringify(batches.map(({ dueAt, firstId }) => ({ due_at: dueAt, first_id: firstId })))

/** Counts an attempt before it is made, so that one that ends the process counts as well. `by` is -1 to take it back. */
export async function countLearningAttempt(
  sql: Queryable,
  { tenantId, agent }: LearningClaim,
  batches: readonly BatchKey[],
  { by, error }: { by: 1 | 0 | -1; error: string | null },
): Promise<void> {
  await sql`
    update unlearned_captures u set attempts = greatest(0, u.attempts + ${by}), error = ${error}
    from json_to_recordset(${keysOf(batches)}::text::json) as k (due_at timestamptz, first_id text)
    where u.tenant_id = ${tenantId} and u.agent = ${agent} and u.due_at = k.due_at and u.first_id = k.first_id`
}

/** Makes each capture of a batch a batch of its own, begun once: each is tried alone from now on. */
export async function splitBatch(
  sql: Queryable,
  { tenantId, agent }: LearningClaim,
  { dueAt, firstId }: BatchKey,
): Promise<void> {
  await sql`
    with taken as (
      delete from unlearned_captures
      where tenant_id = ${tenantId} and agent = ${agent} and due_at = ${dueAt}::text::timestamptz
        and first_id = ${firstId}
      returning due_at, capture_ids, error
    )
    insert into unlearned_captures (tenant_id, agent, due_at, first_id, capture_ids, captures, attempts, error)
    select ${tenantId}, ${agent}, due_at, capture_id, array[capture_id], 1, 1, error
    from taken, unnest(capture_ids) as capture_id`
}

/** Takes captures out of the queue for good, until an operator puts them back. */
export async function setCapturesAside(
  sql: Queryable,
  { tenantId, agent }: LearningClaim,
  { dueAt, firstId }: BatchKey,
): Promise<void> {
  await sql`
    with taken as (
      delete from unlearned_captures
      where tenant_id = ${tenantId} and agent = ${agent} and due_at = ${dueAt}::text::timestamptz
        and first_id = ${firstId}
      returning capture_ids, attempts, error
    )
    insert into set_aside_captures (tenant_id, capture_id, agent, attempts, error)
    select ${tenantId}, c.capture_id, ${agent}, t.attempts, coalesce(t.error, 'unknown')
    from taken t join captures c on c.tenant_id = ${tenantId} and c.capture_id = any (t.capture_ids)
    on conflict do nothing`
}

/** A capture to learn from; null where it was removed meanwhile. */
export interface UnlearnedCapture {
  readonly captureId: string
  readonly item: string | null
  readonly conversationId: string | null
  readonly governed: boolean | null
  /** As text: PostgreSQL's times are finer than a Date. */
  readonly at: string | null
}

/** The captures in this order, until they come to `size` characters. The first comes however long it is. */
export function loadCapturesInOrder(
  sql: Queryable,
  { tenantId, ids, size }: { tenantId: string; ids: readonly string[]; size: number },
): Promise<UnlearnedCapture[]> {
  return sql<UnlearnedCapture[]>`
    select capture_id, item::text, conversation_id, governed, at::text from (
      select t.capture_id, c.item, c.conversation_id, c.governed, c.at, t.place, coalesce(c.size, 0) as size,
        sum(coalesce(c.size, 0)) over (order by t.place) as size_so_far
      from unnest(${[...ids]}::text[]) with ordinality t (capture_id, place)
      left join lateral (
        -- One by one, however many PostgreSQL thinks there are: a plan for all reads every capture of the tenant.
        select item, conversation_id, governed, at, coalesce(item_size, length(item::text)) as size
        from captures where tenant_id = ${tenantId} and capture_id = t.capture_id limit 1
      ) c on true
    ) measured
    where size_so_far - size < ${size}
    order by place`
}

/**
 * What receipts say of the calls of governed captures, by capture; such a capture has its proposal's id and time. Proposals
 * are found by their time (`offset 0`): a session may have any number of them, and a moment has few.
 */
export async function loadOutcomes(
  sql: Queryable,
  tenantId: string,
  captures: readonly UnlearnedCapture[],
): Promise<Map<string, [callId: string, outcome: Outcome][]>> {
  const governed = captures.filter((capture) => capture.governed === true)
  const outcomes = new Map<string, [string, Outcome][]>(governed.map(({ captureId }) => [captureId, []]))
  if (governed.length === 0) return outcomes
  const rows = await sql<{ proposalId: string; callId: string; outcome: Outcome }[]>`
    select c.proposal_id, d ->> 'call_id' as call_id, r.record::json ->> 'outcome' as outcome
    from unnest(${governed.map(({ captureId }) => captureId)}::text[],
      ${governed.map(({ conversationId }) => conversationId)}::text[],
      ${governed.map(({ at }) => at)}::text[]) c (proposal_id, session_id, at)
    cross join lateral (
      select * from session_events where tenant_id = ${tenantId} and at = c.at::timestamptz offset 0
    ) e
    cross join json_array_elements(e.record::json -> 'decisions') d
    cross join lateral (
      select record from receipts
      where tenant_id = ${tenantId} and session_id = c.session_id and pending_call_id = d ->> 'pending_call_id' limit 1
    ) r
    where e.session_id = c.session_id and e.proposal_id = c.proposal_id`
  for (const { proposalId, callId, outcome } of rows) outcomes.get(proposalId)?.push([callId, outcome])
  return outcomes
}

/** Takes the first captures out of each batch: they are learned. What is left of a batch starts with no attempts. */
export async function markLearned(
  tx: Tx,
  { tenantId, agent }: LearningClaim,
  batches: readonly (BatchKey & { readonly taken: number })[],
): Promise<void> {
  const rows = batches.map(({ dueAt, firstId, taken }) => ({ due_at: dueAt, first_id: firstId, taken }))
  await tx`
    with taken as (
      select * from json_to_recordset(${JSON.stringify(rows)}::text::json) as t (due_at timestamptz, first_id text, taken int)
    ), done as (
      delete from unlearned_captures u using taken t
      where u.tenant_id = ${tenantId} and u.agent = ${agent} and u.due_at = t.due_at and u.first_id = t.first_id
        and u.captures <= t.taken
    )
    update unlearned_captures u set attempts = 0, error = null, captures = u.captures - t.taken,
      capture_ids = u.capture_ids[t.taken + 1 :]
    from taken t
    where u.tenant_id = ${tenantId} and u.agent = ${agent} and u.due_at = t.due_at and u.first_id = t.first_id
      and u.captures > t.taken`
}
