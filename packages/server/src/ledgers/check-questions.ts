import { cardHashOf, editProblem, saltedHash } from '@countersign/engine'
import type { ChainedEvent, LedgerBody, QuestionCard } from '@countersign/protocol'
import type { Context } from '../context/context.js'
import { inRead } from '../context/work.js'
import { loadCard } from '../store/questions/cards.js'
import { listAnswers } from '../store/questions/questions.js'
import type { SessionRow } from '../store/sessions/session-row.js'

/** What of the stored questions and answers of a session does not fit its ledger, or null. Erased content fits. */
export async function changedQuestion(
  ctx: Context,
  { fixed: { tenantId, hashSalt }, head }: SessionRow,
  answered: readonly ChainedEvent[],
): Promise<string | null> {
  const questions = head.state.questions ?? []
  const cards = new Map<string, QuestionCard>()
  for (const { id, cardHash } of questions) {
    const card = await inRead(ctx, (sql) => loadCard(sql, tenantId, id))
    if (card !== null && cardHashOf(hashSalt, card) !== cardHash) return `the card of question ${id} was changed`
    if (card !== null) cards.set(id, card)
  }
  const ids = questions.map(({ id }) => id)
  const answers = ids.length === 0 ? [] : await inRead(ctx, (sql) => listAnswers(sql, tenantId, ids))
  for (const { seq, body } of answered) {
    const told = body as unknown as LedgerBody<'answered'>
    const stored = answers.find((one) => one.seq === seq && one.questionId === told.question_id)
    const what = stored === undefined ? 'the record' : changedPart(stored, told, hashSalt)
    const card = cards.get(told.question_id)
    if (what === null && stored?.edited && card && editProblem(card, stored.edited) !== null)
      return `event ${seq}: an answer to question ${told.question_id} changed its call in a way that its card does not allow`
    if (what !== null) return `event ${seq}: ${what} of an answer to question ${told.question_id} was changed`
  }
  return null
}

type Stored = Awaited<ReturnType<typeof listAnswers>>[number]

function changedPart(stored: Stored, told: LedgerBody<'answered'>, salt: string): string | null {
  if (stored.decision !== told.decision || stored.cardNo !== told.card_no) return 'the decision'
  if (saltedHash(salt, stored.userId) !== told.member_hash) return 'the member'
  if (stored.memberName !== null && saltedHash(salt, stored.memberName) !== told.name_hash) return 'the name'
  if (stored.note !== null && saltedHash(salt, stored.note) !== told.note_hash) return 'the note'
  if (stored.edited !== null && saltedHash(salt, stored.edited) !== told.edited_hash) return 'the edit'
  return null
}
