import type { AnswerBody, QuestionDetail, Role } from '@countersign/protocol'
import { Refusal } from '../../support/browser/fixture-server.js'
import type { Fixtures } from './fixtures.js'
import { questionStats, questionStory, type StoryParts } from './questions.js'
import { webhookFixtures } from './webhook-fixtures.js'

interface Options extends Omit<StoryParts, 'now'> {
  readonly empty: boolean
  readonly role: Role
  /** What happens just before the answer of a person arrives. */
  readonly race: 'decided' | 'changed' | undefined
}

/** The routes of questions, over made-up questions that change when they are answered. */
export function questionFixtures(now: Date, { empty, role, race, ...parts }: Options): Fixtures {
  const story = empty ? new Map<string, QuestionDetail>() : questionStory({ now, ...parts })
  const stats = questionStats(now)
  if (role === 'viewer') {
    for (const detail of story.values()) {
      Object.assign(detail.question, { mine: false })
      Object.assign(detail.may, {
        answer: false,
        deny: false,
        ask_again: false,
        why_not: 'it asks approvers, and you are a viewer',
      })
    }
  }
  const rows = () => [...story.values()].map(({ question }) => question)

  const take = (id: string, given: AnswerBody): QuestionDetail => {
    const detail = story.get(id)
    if (detail === undefined) throw new Refusal('NOT_FOUND', 'there is no such question')
    const { question } = detail
    const byBen = { card_no: question.card_no, by: 'Ben Ode', relation: 'other', channel: 'dashboard' } as const
    if (race === 'changed' && detail.card_hash === given.card_hash && detail.card !== null) {
      detail.card_hash = 'e'.repeat(64)
      detail.card = { ...detail.card, card_no: 2, arguments: { ...detail.card.arguments, amount: 950 } }
      Object.assign(question, { card_no: 2, have: 0 })
    }
    if (race === 'decided' && question.state === 'waiting') {
      detail.answers.push({ ...byBen, decision: 'deny', note: 'I was faster.', edited: null, at: now.toISOString() })
      Object.assign(detail.may, { answer: false, deny: false, ask_again: false, why_not: null })
      Object.assign(question, { state: 'denied', cause: 'denied', mine: false, decided_at: now.toISOString() })
      throw new Refusal('QUESTION_DECIDED', 'Ben Ode denied it a moment ago')
    }
    if (given.card_hash !== detail.card_hash) throw new Refusal('QUESTION_CHANGED', 'an owner asked it again')
    const yes = given.decision === 'approve'
    const have = question.have + (yes ? 1 : 0)
    const state = !yes ? 'denied' : have >= question.needed ? 'approved' : 'waiting'
    const made = { by: 'Dana', decision: given.decision, note: given.note ?? null, edited: given.arguments ?? null }
    detail.answers.push({ ...byBen, ...made, at: now.toISOString() })
    Object.assign(question, { state, have, mine: false, decided_at: state === 'waiting' ? null : now.toISOString() })
    Object.assign(question, { usable_until: state === 'approved' ? question.expires_at : null })
    const why_not = 'you have said yes already'
    Object.assign(detail.may, { answer: false, deny: yes, ask_again: state === 'waiting', why_not })
    return detail
  }

  return {
    listQuestions: ({ query }) => {
      const fits = rows().filter(
        (row) =>
          (query?.state === undefined || row.state === query.state) &&
          (query?.mine === undefined || row.mine) &&
          (query?.agent === undefined || row.agent === query.agent) &&
          (query?.rule === undefined || row.rule === query.rule) &&
          (query?.session_id === undefined || row.session_id === query.session_id),
      )
      const waiting = rows().filter(({ state }) => state === 'waiting')
      const counts = { waiting: waiting.length, mine: waiting.filter(({ mine }) => mine).length }
      return { items: fits.slice(0, query?.limit ?? 50), next: null, counts }
    },
    loadQuestion: ({ params }) => story.get(params?.question_id ?? '') ?? 404,
    answerQuestion: ({ params, body }) =>
      body === undefined ? 400 : structuredClone(take(params?.question_id ?? '', body)),
    answerQuestions: ({ body }) => ({
      results: (body?.answers ?? []).map(({ question_id, ...given }) => {
        try {
          return { question_id, state: take(question_id, given).question.state, problem: null }
        } catch (refusal) {
          if (!(refusal instanceof Refusal)) throw refusal
          const problem = { code: refusal.code, title: refusal.code, detail: refusal.message }
          return { question_id, state: null, problem }
        }
      }),
    }),
    askAgain: ({ params }) => {
      const detail = story.get(params?.question_id ?? '')
      if (detail === undefined) return 404
      detail.question.card_no += 1
      detail.question.have = 0
      detail.card_hash = 'f'.repeat(64)
      return detail
    },
    ...webhookFixtures(now, empty),
    draftAskingLess: ({ body }) =>
      body?.rule === 'send_mail#0'
        ? {
            plan_id: 'plan_asks-less',
            change: {
              was: '$.recipients is above 1',
              is: '$.recipients is above 4',
              decided: 206,
              denied: 2,
              still_asked: 5,
            },
          }
        : 400,
    questionStats: () => (empty ? { ...stats, rules: [], people: [], waiting: 0, undelivered: 0 } : stats),
  }
}
