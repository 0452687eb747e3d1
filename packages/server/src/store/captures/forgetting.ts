import type { Queryable, Tx } from '../../postgres/sql.js'
import { LEARNING_CLAIM, type LearningClaim } from './unlearned.js'

/** A governed session of which something may have been learned. */
export interface LearnedSession {
  readonly tenantId: string
  readonly sessionId: string
}

/** The agent of a session, under whose name its captures are. */
const agentOf = (sql: Queryable, { tenantId, sessionId }: LearnedSession) => sql`
  select agent from sessions where tenant_id = ${tenantId} and session_id = ${sessionId}`

/** The kind of id that a claim to forget has: it interrupts who learns, and not who forgets. */
export const FORGETTING = 'fgt'

/**
 * Claims the agent of a session, or keeps it, so that nothing is learned about it meanwhile; a learner at this moment writes
 * nothing any more. Null when nothing was learned about it, or another request forgets.
 */
export async function claimToForget(
  sql: Queryable,
  session: LearnedSession,
  claimId: string,
): Promise<LearningClaim | null> {
  const [claimed] = await sql<LearningClaim[]>`
    update learned_agents set claim_id = ${claimId}, claimed_until = statement_timestamp() + ${LEARNING_CLAIM}::interval
    where tenant_id = ${session.tenantId} and agent = (${agentOf(sql, session)})
      and (claim_id is null or claim_id = ${claimId} or claimed_until < statement_timestamp()
        or not starts_with(claim_id, ${`${FORGETTING}_`}))
    returning tenant_id, agent, salt, claim_id`
  return claimed ?? null
}

/** Ends any claim on the session's agent: nothing is learned about it until the transaction ends. */
export async function holdAgentOf(tx: Tx, session: LearnedSession): Promise<void> {
  await tx`
    update learned_agents set claim_id = null, claimed_until = null
    where tenant_id = ${session.tenantId} and agent = (${agentOf(tx, session)})`
}

/** The ids of a governed session's captures that were learned from, so many at most. */
export async function listLearnedCaptures(sql: Queryable, session: LearnedSession, limit: number): Promise<string[]> {
  const { tenantId, sessionId } = session
  const rows = await sql<{ captureId: string }[]>`
    with own as materialized (
      select capture_id from captures
      where tenant_id = ${tenantId} and agent = (${agentOf(sql, session)}) and conversation_id = ${sessionId} and governed
    ), waiting as materialized (
      select unnest(u.capture_ids) as capture_id from unlearned_captures u
      where u.tenant_id = ${tenantId} and u.agent = (${agentOf(sql, session)}) and exists (select 1 from own)
    )
    select o.capture_id from own o
    where not exists (select 1 from waiting w where w.capture_id = o.capture_id)
      and not exists (
        select 1 from set_aside_captures a where a.tenant_id = ${tenantId} and a.capture_id = o.capture_id)
    limit ${limit}`
  return rows.map(({ captureId }) => captureId)
}

/** What was learned of these is forgotten: they go together with it. */
export async function deleteForgotten(tx: Tx, tenantId: string, captureIds: readonly string[]): Promise<void> {
  await tx`delete from captures where tenant_id = ${tenantId} and capture_id = any (${[...captureIds]}::text[])`
}
