import type { QuestionCard, QuestionDetail } from '@countersign/protocol'

/** What a person is shown of the call. Null: not what they would decide about, so they can only say no. */
export const shownCard = ({ card, changed }: Pick<QuestionDetail, 'card' | 'changed'>): QuestionCard | null =>
  changed === true ? null : card

/** Longer arguments are read, and approved, on the page of their question. */
const MOST_CHARACTERS_OF_A_LINE = 2_000

/** Whether one line of several questions shows the whole call. */
export function fitsLine(detail: Pick<QuestionDetail, 'card' | 'changed'>): boolean {
  const card = shownCard(detail)
  return card !== null && JSON.stringify(card.arguments).length <= MOST_CHARACTERS_OF_A_LINE
}

/**
 * What the reader of a card can do now. `read_again`: the question is another by now. `over`: it does not wait. `deny`: only
 * that, since they or others have said yes. `refused`: it does not ask them.
 */
export function answerChoice(
  { question, card_hash, may }: Pick<QuestionDetail, 'question' | 'card_hash' | 'may'>,
  readHash: string,
): 'answer' | 'read_again' | 'over' | 'deny' | 'refused' {
  if (question.state !== 'waiting' && !may.deny) return 'over'
  if (card_hash !== readHash) return 'read_again'
  return may.answer ? 'answer' : may.deny ? 'deny' : 'refused'
}
