import { isOpenAt } from '@countersign/engine'
import { isLive, type QuestionCause } from '@countersign/protocol'
import { isoTime } from '../base/iso-time.js'
import { JOBS_SHARE } from '../base/work/piece-of-work.js'
import { advance } from '../change/advance.js'
import { NO_PLAN } from '../change/change-session.js'
import type { Services } from '../context/context.js'
import type { Tx } from '../postgres/sql.js'
import { listLapsedQuestions } from '../store/questions/questions.js'
import { loadSession, lockSession } from '../store/sessions/sessions.js'
import { writeChange } from '../store/sessions/write-change.js'

interface OfSession {
  readonly tenantId: string
  readonly sessionId: string
}

/** Ends questions of a session whose row the transaction holds: all that are open, or those whose time has passed. */
export async function endQuestions(
  tx: Tx,
  { tenantId, sessionId }: OfSession,
  { state, cause }: { readonly state: 'expired' | 'withdrawn'; readonly cause: QuestionCause },
): Promise<number> {
  const session = await loadSession(tx, tenantId, sessionId)
  const questions = session?.head.state.questions ?? []
  if (session === null) return 0
  const ended = questions.filter(
    (one) => isLive(one.state) && (state === 'withdrawn' || !isOpenAt(one, session.now.getTime())),
  )
  if (ended.length === 0) return 0
  const { head, events } = advance(
    { session, plan: NO_PLAN },
    ended.map(({ id }) => ({
      type: 'question_ended' as const,
      at: isoTime(session.now),
      body: { question_id: id, state, cause },
    })),
  )
  if (!(await writeChange(tx, { session, head, events }))) throw new Error('a locked session was changed')
  return ended.length
}

/**
 * Writes down that the time of questions has passed; they count as expired from that moment on in any case. Each session is
 * a transaction of its own, so that one which cannot be written holds up no other. Returns how many were written.
 */
export async function expireQuestions(services: Pick<Services, 'database' | 'log'>, limit = 50): Promise<number> {
  const { database, log } = services
  let expired = 0
  const seen = new Set<string>()
  const failed = new Set<string>()
  for (const { tenantId, sessionId } of await database.read(JOBS_SHARE, (sql) => listLapsedQuestions(sql, limit))) {
    const key = `${tenantId} ${sessionId}`
    if (seen.has(key) || failed.has(tenantId)) continue
    seen.add(key)
    try {
      expired += await database.transaction(tenantId, async (tx) => {
        if (!(await lockSession(tx, tenantId, sessionId))) return 0
        return endQuestions(tx, { tenantId, sessionId }, { state: 'expired', cause: 'time' })
      })
    } catch (error) {
      failed.add(tenantId)
      log.warn({ error, session_id: sessionId }, 'a question could not be written as expired')
    }
  }
  return expired
}
