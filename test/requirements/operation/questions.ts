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
    'Who answers may change what the asking rules name, to less or to another listed value; the plan judges the changed call at the click and when it runs, and the ledger has its hash',
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
  'question.notices-together':
    'What is due to a member at the same time is one mail; after 20 mails within an hour there is one every 10 minutes, with all that waits',
  'question.ask-less':
    'A draft that asks less moves a bound to the furthest number that people approved, and still asks about every call that they denied or changed; of a rule that was learned it is learned anew',
  'question.stats':
    'How often each rule asks and each person answers is counted; a rule with 50 answers of which more than 97 % are yes is marked',
  'webhook.signed':
    'A message to a webhook is signed as in Standard Webhooks, over its id, its time and its body, and holds no argument, note or name of a person',
  'webhook.events':
    'A webhook is told that people are asked, reminded and more of them asked, that no mail was sent, each answer, and the end of a question without one',
  'webhook.once-known':
    'A message arrives at least once, also when the answer to it or the process is lost, and has the same id every time',
  'webhook.retried':
    'A message that does not arrive is tried 10 times, 1, 2, 4, … minutes apart; other messages to the webhook wait a minute, those to other webhooks do not',
  'webhook.addresses':
    'Messages go by https to public addresses alone unless the operator allows others; no redirect is followed, nothing of the answer but its status is read, and it is given up after 10 seconds',
  'webhook.disabled':
    'A webhook at which nothing has arrived for 3 days, or that answers 410, is disabled and its owners are told by mail; a disabled one is told nothing, and an owner can enable it',
  'webhook.secret':
    'The secret of a webhook is shown once and stored encrypted for its row; a new one signs beside the old one for 24 hours',
  'webhook.owners':
    'Owners add, change, test and remove up to 8 webhooks, and see the last messages; each change is in the audit trail',
} satisfies Facts
