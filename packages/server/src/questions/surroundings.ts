import type { JsonObject, LedgerBody, QuestionDetail } from '@countersign/protocol'
import type { UserContext } from '../context/context.js'
import { inRead } from '../context/work.js'
import { checkContent } from '../ledgers/content-check.js'
import { type CallFilter, callRow, type ListedCall, listCalls } from '../store/dashboard/call-list.js'
import type { StoredQuestion } from '../store/questions/questions.js'
import { loadEventsAt } from '../store/sessions/ledger.js'
import type { FixedSession } from '../store/sessions/session-row.js'
import { loadTurns } from '../store/sessions/stored-turns.js'

const CALLS_BEFORE = 5
/** In bytes: a turn is loaded whole, however large, unless others come before it. */
const FIRST_ONE_WHOLE = 1

/** The calls of the session before it was asked, and the arguments of the last allowed one of the same tool. */
export async function surroundingsOf(
  ctx: UserContext,
  fixed: FixedSession,
  { askedAt, toolName }: StoredQuestion,
): Promise<Pick<QuestionDetail, 'last_allowed' | 'before'>> {
  const { tenantId, sessionId } = fixed
  const before = (more: Partial<CallFilter>) =>
    inRead(ctx, async (sql) => {
      const any = { agent: null, decision: null, reason: null, unanswered: false, from: null, below: null }
      return (await listCalls(sql, { ...any, tenantId, sessionId, to: askedAt, limit: CALLS_BEFORE, ...more })).rows
    })
  const calls = await before({})
  const [allowed] = await before({ decision: 'allow', toolName, limit: 1 })
  return {
    last_allowed: allowed === undefined ? null : await withArguments(ctx, fixed, allowed),
    before: calls.map(callRow),
  }
}

/** Null where its arguments are not stored any more, or do not fit the ledger. */
async function withArguments(
  ctx: UserContext,
  fixed: FixedSession,
  { seq, index, at }: ListedCall,
): Promise<QuestionDetail['last_allowed']> {
  const { turns } = await inRead(ctx, (sql) => loadTurns(sql, fixed, [seq], FIRST_ONE_WHOLE))
  const [event] = await inRead(ctx, (sql) => loadEventsAt(sql, fixed, [seq]))
  const turn = turns.get(seq)
  if (turn === undefined || event === undefined) return null
  const check = checkContent(fixed.hashSalt, event.body as unknown as LedgerBody<'proposal'>, turn)
  const given = check.intact.get(index)
  return given === undefined ? null : { at: at.toISOString(), arguments: given as JsonObject }
}
