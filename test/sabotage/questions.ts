import type { Bugs } from './sabotages.js'

/** Questions to people. */
export const questionSabotages: Bugs = {
  'packages/engine/src/judge/rules/standing.ts': [
    {
      breaks: 'question.bound',
      from: 'known.filter((one) => one.hash === hash && one.rulesHash === asked.rulesHash)',
      to: 'known.filter((one) => one.rulesHash === asked.rulesHash)',
    },
    {
      breaks: 'question.denied-is-final',
      from: "asked.asksAgain ? undefined : same.find(({ state }) => state === 'denied')",
      to: 'undefined',
    },
  ],
  'packages/engine/src/state/questions.ts': [
    {
      breaks: 'question.used-once',
      from: "withState(next, question.question_id, 'used')",
      to: "withState(next, question.question_id, 'approved')",
    },
    {
      breaks: 'question.expire',
      from: 'isLive(state) && Date.parse(until) >= atMs',
      to: 'isLive(state)',
    },
    {
      breaks: 'question.withdrawn-by-kill',
      from: "isLive(one.state) ? { ...one, state: 'withdrawn' } : one",
      to: 'one',
    },
  ],
  'packages/engine/src/ledger/verify-questions.ts': [
    { breaks: 'question.verified', from: "if (known.state === 'used') return", to: 'if (false) return' },
    {
      breaks: 'question.verified',
      from: "if (isLater(at, known.until)) return fail('after",
      to: "if (false) return fail('after",
    },
  ],
  'packages/server/src/store/questions/question-changes.ts': [
    {
      breaks: 'question.eligible',
      from: 'and g.name = one.role and g.since <= q.card_at',
      to: 'and g.name = one.role',
    },
    {
      breaks: 'question.eligible',
      from: "u.role in ('approver', 'owner') and u.role_since <= q.card_at",
      to: "u.role in ('approver', 'owner')",
    },
  ],
}
