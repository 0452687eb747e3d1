import { type Contradiction, type Legal, LITTLE, MUCH } from './stream-case.js'

type JsonObject = { [key: string]: unknown }

const start = (index: unknown, block: JsonObject): JsonObject => ({
  type: 'content_block_start',
  index,
  content_block: block,
})
const use = (name: string, rest: JsonObject = {}): JsonObject => ({
  type: 'tool_use',
  id: 't1',
  name,
  input: {},
  ...rest,
})
const input = (index: unknown, partial_json: unknown): JsonObject => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'input_json_delta', partial_json },
})
const stop = (index: unknown): JsonObject => ({ type: 'content_block_stop', index })
const messageStream = (content: JsonObject[], ...events: JsonObject[]): JsonObject[] => [
  {
    type: 'message_start',
    message: {
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content,
      stop_reason: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  },
  ...events,
  { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
]

export const MESSAGES: Contradiction[] = [
  [
    'a call of a kind that nobody knows',
    messageStream([], start(0, use('pay', { type: 'tool_use_v2' })), input(0, MUCH), stop(0)),
    /"tool_use_v2" looks like a call/,
  ],
  [
    'input for a block that looked like no call',
    messageStream([], start(0, { type: 'tool_use_v2', id: 't1' }), input(0, MUCH), stop(0)),
    /block of an unknown kind, "tool_use_v2"/,
  ],
  [
    'a delta in capitals',
    messageStream(
      [],
      start(0, use('look')),
      { ...input(0, '{}'), delta: { type: 'input_json_delta', partial_json: '{}', Partial_json: MUCH } },
      stop(0),
    ),
    /the member "Partial_json" for another one/,
  ],
  [
    'a call that only sounds as if the provider ran it',
    messageStream([], start(0, use('pay', { type: 'client_tool_use', input: JSON.parse(MUCH) })), stop(0)),
    /"client_tool_use" looks like a call/,
  ],
  [
    'a block in capitals beside the one that is known',
    messageStream([], { ...start(0, { type: 'text', text: '' }), Content_Block: use('pay') }, input(0, MUCH), stop(0)),
    /the member "Content_Block" for another one/,
  ],
  [
    'a call inside of something else',
    messageStream([], start(0, { type: 'text', text: 'a', parts: [use('pay', { input: MUCH })] }), stop(0)),
    /"parts" looks like a call/,
  ],
  [
    'input that is a list, which joins a text as its own',
    messageStream([], start(0, use('pay')), input(0, [MUCH]), stop(0)),
    /not a JSON object/,
  ],
  [
    'two blocks under one number',
    messageStream([], start(0, use('look')), start(0, use('pay', { id: 't2' })), input(0, LITTLE), stop(0)),
    /two blocks/,
  ],
  [
    'a block under a number that is not its place',
    messageStream(
      [],
      start(1, use('pay')),
      start(0, use('look', { id: 't2' })),
      input(0, '{}'),
      input(1, LITTLE),
      stop(0),
      stop(1),
    ),
    /two blocks/,
  ],
  [
    'input for a block that came with the message',
    messageStream([use('pay', { input: { amount: 5 } })], start(0, use('look', { id: 't2' })), input(0, MUCH), stop(0)),
    /two blocks/,
  ],
  [
    'input of a number from the end',
    messageStream([], start(0, use('pay', { input: { amount: 5 } })), input(-1, MUCH), stop(0)),
    /two blocks/,
  ],
  [
    'the block as it began against its deltas',
    messageStream([], start(0, use('pay', { input: { amount: 501.875 } })), input(0, LITTLE), stop(0)),
    /two inputs/,
  ],
  [
    'the block as it began against an empty delta',
    messageStream([], start(0, use('pay', { input: { amount: 5 } })), input(0, ''), stop(0)),
    /two inputs/,
  ],
  [
    'input after the end of its block',
    messageStream([], start(0, use('pay')), stop(0), input(0, LITTLE)),
    /goes on after its end/,
  ],
  [
    'input after the end of a block before it',
    messageStream([], start(0, use('look')), start(1, use('pay', { id: 't2' })), stop(0), input(1, LITTLE), stop(1)),
    /goes on after its end/,
  ],
]

export const MESSAGES_LEGAL: Legal[] = [
  [
    'pieces',
    messageStream([], start(0, use('pay')), input(0, ''), input(0, '{"amou'), input(0, 'nt":5}'), stop(0)),
    [`pay ${LITTLE}`],
  ],
  [
    'a whole call as it began',
    messageStream([], start(0, use('pay', { input: { amount: 5 } })), stop(0)),
    [`pay ${LITTLE}`],
  ],
  [
    'a whole call as it began, and again',
    messageStream([], start(0, use('pay', { input: { amount: 5 } })), input(0, '{ "amount": 5 }'), stop(0)),
    [`pay ${LITTLE}`],
  ],
  ['no arguments', messageStream([], start(0, use('look')), input(0, ''), stop(0)), ['look {}']],
  [
    'all ends at the end',
    messageStream(
      [],
      start(0, use('look')),
      input(0, '{}'),
      start(1, use('pay', { id: 't2' })),
      input(1, LITTLE),
      stop(0),
      stop(1),
    ),
    ['look {}', `pay ${LITTLE}`],
  ],
  [
    'no ends',
    messageStream([], start(0, use('look')), input(0, '{}'), start(1, use('pay', { id: 't2' })), input(1, LITTLE)),
    ['look {}', `pay ${LITTLE}`],
  ],
]
