import { closestName } from '@countersign/engine'
import { ERRORS, type Input, type Reply, type Routes, type StopAgentReply } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { Context } from '../context/context.js'
import { inRead } from '../context/work.js'
import { databaseTrouble } from '../postgres/database-error.js'
import { isKnownAgent } from '../store/dashboard/agents.js'
import { listAgentNames } from '../store/dashboard/shared-limit-usage.js'
import { sessionsToStop } from '../store/sessions/sessions.js'
import { kill } from './kill.js'

/** So many sessions for each request, so many at a time, and none is begun after so long: a kill may wait for a lock. */
const BATCH = 100
const AT_A_TIME = 2
const BEGIN_WITHIN_MS = 10_000
/** So many names of agents instead of one that is not known. */
const SIMILAR = 5

/**
 * Kills the sessions of an agent, the newest first, each as `kill` does. What cannot be killed is named, and does not
 * keep the others from it.
 */
export async function stopAgent(
  ctx: Context,
  { body }: Input<Routes['stopAgent']>,
): Promise<Reply<Routes['stopAgent']>> {
  const { agent, all, reason } = body
  const { tenantId } = ctx.tenant
  const found = await inRead(ctx, (sql) => sessionsToStop(sql, { tenantId, agent, all, limit: BATCH + 1 }))
  const waiting = found.ids.slice(0, BATCH)
  const killed: string[] = []
  const failed: StopAgentReply['failed'] = []
  const endMs = ctx.app.clock().getTime() + BEGIN_WITHIN_MS
  const killInTurn = async (): Promise<void> => {
    while (ctx.app.clock().getTime() < endMs) {
      const sessionId = waiting.shift()
      if (sessionId === undefined) return
      try {
        await kill(ctx, { sessionId, by: 'client', reason })
        killed.push(sessionId)
      } catch (error) {
        const problem = problemOf(error)
        if (problem === null) throw error
        failed.push({ session_id: sessionId, problem })
      }
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, killInTurn))
  const more = waiting.length > 0 || found.ids.length > BATCH
  const similar = found.ids.length + found.idle > 0 ? null : await namesInsteadOf(ctx, agent)
  return { killed, failed, more, idle: all ? 0 : found.idle, similar }
}

/** Names that may be meant by one that no agent has; null if one has it. */
async function namesInsteadOf(ctx: Context, agent: string): Promise<string[] | null> {
  const { tenantId } = ctx.tenant
  if (await inRead(ctx, (sql) => isKnownAgent(sql, tenantId, agent))) return null
  const names = await inRead(ctx, (sql) => listAgentNames(sql, tenantId))
  return names.filter((name) => closestName(agent, [name]) !== null).slice(0, SIMILAR)
}

/** What is wrong with one session; null for what is wrong with all. */
function problemOf(error: unknown): string | null {
  if (error instanceof ApiError) return error.message
  return databaseTrouble(error) === 'busy' ? ERRORS.BUSY.title : null
}
