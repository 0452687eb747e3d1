import type { Facts } from '../facts.js'

/** Questions to people that outlive the process. */
export const questions = {
  'question.asked':
    'A call that needs people is not registered: it holds nothing, is neither a block nor an allow, and the same call waits for the same question',
  'question.bound': 'An answer is for one call: one byte of an argument changed, another tool or session is another question',
  'question.used-once': 'An answer lets one call run, once',
  'question.judged-again':
    'An approved call is judged again by everything else when it is proposed again; what blocks it then leaves the answer as it is',
  'question.denied-is-final': 'A call that a person refused stays blocked in its session, and nobody is asked again',
  'question.expire': 'Without an answer in time, or unused until the later of its end and an hour, a question has expired',
  'question.share-the-triggers': 'Questions count among the ten triggers of a session',
  'question.not-asked': 'Where too few members can answer, or no service decides, the call is blocked and nobody is asked',
  'question.withdrawn-by-kill': 'A kill, a bypass and an erasure withdraw what waits, and no answer after them counts',
  'question.verified':
    'Verification names a call that ran without enough answers to its own card, after its time, twice, or with other arguments',
  'question.compile-errors': 'A contract whose `ask` contradicts itself does not compile, and the error says what to write',
} satisfies Facts
