import type { JsonObject } from '@countersign/protocol'
import type { Person } from '../runtime/person.js'

export interface Answering {
  readonly decision: 'approve' | 'deny'
  readonly note?: string
  readonly arguments?: JsonObject
}

/** Answers a question in the dashboard, as the person who has read its page. */
export async function answerAs(person: Person, questionId: string, answer: Answering): Promise<number> {
  const params = { question_id: questionId }
  const read = await person.call('loadQuestion', { params })
  if (read.status !== 200) throw new Error(`the question cannot be read: ${read.text}`)
  const { status } = await person.call('answerQuestion', {
    params,
    body: { card_hash: read.body.card_hash, ...answer },
  })
  return status
}
