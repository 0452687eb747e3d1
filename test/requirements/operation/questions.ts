import type { Facts } from '../facts.js'

/** Questions to people that outlive the process. */
export const questions = {
  'question.asked':
    'A call that needs people is not registered: it holds nothing, is neither a block nor an allow, and the same call waits for the same question',
  'question.bound':
    'An answer is for one call: one byte of an argument changed, another tool or session is another question',
  'question.used-once': 'An answer lets one call run, once',
  'question.judged-again':
    'An approved call is judged again by everything else when it is proposed again; what blocks it then leaves the answer as it is',
  'question.denied-is-final': 'A call that a person refused stays blocked in its session, and nobody is asked again',
  'question.expire':
    'Without an answer in time, or unused until the later of its end and an hour, a question has expired',
  'question.share-the-triggers': 'Questions count among the ten triggers of a session',
  'question.not-asked':
    'Where too few members can answer, or no service decides, the call is blocked and nobody is asked',
  'question.withdrawn-by-kill': 'A kill, a bypass and an erasure withdraw what waits, and no answer after them counts',
  'question.edited':
    'Who answers may change what the asking rules name, downwards only; the plan judges the changed call at the click and when it runs, and the ledger has its hash',
  'question.flow':
    'A call that is made again is judged by where its values were seen when people were asked, whatever the process that makes it knows',
  'question.verified':
    'Verification names a call that ran without enough answers to its own card, after its time, twice, or with other arguments',
  'question.compile-errors':
    'A contract whose `ask` contradicts itself does not compile, and the error says what to write',
  'question.eligible':
    'Only members who had a role or group of each of its rules before the card was put answer, while they have it and are signed in; to others it is 403, to other tenants 404',
  'question.no-key': 'No API key answers a question, by whatever route',
  'question.one-order':
    'Answers have one order: the same again is one answer, one after the decision is 409 and says who decided',
  'question.plan-changed':
    'A plan that is approved meanwhile puts the question again, as another card, and answers are void',
  'question.no-person':
    'Where the person acted for must not answer, a session asks if that person is proven, or if its key says that it acts for no person',
  'question.wait-ends':
    'A request that waits for an answer ends when its client leaves, and its reply only goes to a key that is in force then',
  'question.notices':
    'Those who can answer are told by mail a little later, and reminded while they have not; no mail has an argument in it, what cannot be sent is tried again, and a question of which nothing has arrived says so',
  'question.stats':
    'How often each rule asks and each person answers is counted; a rule with 50 answers of which more than 97 % are yes is marked',
} satisfies Facts
