import type { Facts } from '../facts.js'

/** How programs ask people, whichever way their calls come: the SDK, frameworks, the gateway, MCP, hooks. */
export const asking = {
  'ask.parks':
    'Under `reject_all` nothing of an answer with a call that waits for people is registered, the program gets `ReplayParkedError` with its questions, and neither `onBlock` nor a retry takes part',
  'ask.waits':
    '`askPeople({ waitSeconds })` has every checkpoint ask people, waits off the turn queue, and has all of the answer judged again once they have decided',
  'ask.resume':
    '`session.resume` runs an approved call once, in whichever process holds the session, and says why where it does not run',
  'ask.park': '`session.park()` gives the open questions and ends the lease; `openSession({ sessionId })` goes on',
  'ask.reads':
    'What the model reads of a question is said once: that it waits, was approved, refused, changed, expired or withdrawn',
  'ask.edited':
    'A call that a person changed runs as changed, for the arguments that the model gave, and the model is told',
  'ask.needs-service': 'Where no service decides, what asks people is blocked, and no callback stands in',
  'ask.controls':
    'A label or filter that is set during a turn blocks a call that asks people, approved or not, as it blocks any other; what only the label asks, the next turn asks',
  'ask.withdraw': '`session.withdraw` ends a question of the holder; a decided one is refused as `QUESTION_DECIDED`',
  'ask.lost-replies': 'A lost reply to any request of a question loses no answer and runs nothing twice',
  'ask.kill-points':
    'Killed with -9 at any point between question and receipt, client, gateway, service and PostgreSQL lose no answer, use none twice, and run no call without its answer or twice',
  'ask.diagnostics': 'Diagnostics say that people are asked, have answered, cannot be asked or were not reached',
  'ask.kill': 'A kill ends the wait for people',
  'ask.frameworks':
    'A call that a framework had asked about in one process runs in another, once, by the framework’s own approval or interrupt; too early it reads that it waits',
  'ask.own-question-survives':
    'A question of the program’s own is settled as not executed when it is parked, and the same call may be proposed again within its time, without another trigger; parking it once more gives it no more time',
  'ask.refused-elsewhere':
    'What a person refuses through the AI SDK in another process than the one that asked is recorded as refused, or its question withdrawn',
  'ask.wire':
    'Over the wire the answer says that a call waits, the next request says what was decided, and a repeat through any gateway is let through once; a changed call never is',
  'ask.mcp': 'Over MCP a call that waits is a result that says so, and its repeat runs once, through any gateway',
  'ask.mcp-confirm':
    'A host of 2026-07-28 that opens pages is asked to confirm where the rule lets the requester answer; its own `accept` decides nothing',
  'ask.mcp-state': 'A `requestState` that was forged, swapped or is too old is refused',
  'ask.hooks': 'A hook of a coding agent denies a call that waits, and lets the repeat pass once',
} satisfies Facts
