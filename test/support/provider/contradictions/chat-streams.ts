import { type Contradiction, type Legal, LITTLE, MUCH } from './stream-case.js'

type JsonObject = { [key: string]: unknown }

const choice = (delta: JsonObject, rest: JsonObject = {}): JsonObject => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: null, ...rest }],
})
const part = (name: string | undefined, args: unknown, rest: JsonObject = {}): JsonObject => ({
  index: 0,
  ...(name !== undefined && { id: 'c1', type: 'function' }),
  function: { ...(name !== undefined && { name }), arguments: args },
  ...rest,
})
const chatStream = (...chunks: JsonObject[]): JsonObject[] => [
  choice({ role: 'assistant', content: null }),
  ...chunks,
  choice({}, { finish_reason: 'tool_calls' }),
]
const parts = (...list: JsonObject[]): JsonObject => choice({ tool_calls: list })
const whole = (name: string, args: string): JsonObject => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'c1', type: 'function', function: { name, arguments: args } }],
})

export const CHAT: Contradiction[] = [
  [
    'choices in capitals beside the ones that are known',
    chatStream({ ...choice({}), Choices: choice({ tool_calls: [part('pay', MUCH)] }).choices }),
    /the member "Choices" for another one/,
  ],
  [
    'a function in capitals beside the one that is known',
    chatStream(parts(part('look', '{}', { Function: { name: 'pay', arguments: MUCH } }))),
    /the member "Function" for another one/,
  ],
  [
    'a name with a character that cannot be seen',
    chatStream(parts({ index: 0, id: 'c1', function: { name: 'look', 'na\u00adme': 'pay', arguments: MUCH } })),
    /the member "na\\u00adme" for another one/,
  ],
  [
    'a call of a kind that nobody knows',
    chatStream(choice({ content: 'a', tool_use_v2: [{ type: 'tool_use_v2', name: 'pay', arguments: MUCH }] })),
    /"tool_use_v2" looks like a call/,
  ],
  [
    'calls of an unknown kind in pieces',
    chatStream(
      choice({ tool_calls_v2: [{ index: 0, id: 'c1', name: 'pay501.875' }] }),
      choice({ tool_calls_v2: [{ index: 0, arguments: MUCH }] }),
    ),
    /"tool_calls_v2" looks like a call/,
  ],
  [
    'two inputs',
    chatStream(parts({ index: 0, id: 'c1', function: { name: 'pay', arguments: LITTLE, parameters: MUCH } })),
    /looks like a call/,
  ],
  [
    'a call in the shape of another API',
    chatStream({ ...choice({}), output: [{ type: 'function_call', call_id: 'c1', name: 'pay', arguments: MUCH }] }),
    /"output" looks like a call/,
  ],
  ['an event that is a list', chatStream([parts(part('pay', MUCH))] as unknown as JsonObject), /no object/],
  ['a second name', chatStream(parts(part('look', '')), parts(part('pay', LITTLE))), /two names, "look" and "pay"/],
  ['a name in pieces', chatStream(parts(part('no', '')), parts(part('te', '{}'))), /two names/],
  [
    'a second name that is a list, which names a member as its text does',
    chatStream(parts(part('look', '')), parts({ index: 0, function: { name: ['pay'], arguments: LITTLE } })),
    /two names/,
  ],
  [
    'arguments that are a list, which joins a text as its own',
    chatStream(parts(part('pay', '')), parts({ index: 0, function: { arguments: [MUCH] } })),
    /not a JSON object/,
  ],
  [
    'a second name of a legacy call',
    chatStream(
      choice({ function_call: { name: 'look', arguments: '' } }),
      choice({ function_call: { name: 'pay', arguments: LITTLE } }),
    ),
    /two names/,
  ],
  [
    'arguments after the end of the choice',
    chatStream(parts(part('pay', '')), choice({}, { finish_reason: 'tool_calls' }), parts(part(undefined, LITTLE))),
    /goes on after its end/,
  ],
  [
    'arguments after another call was begun',
    chatStream(
      parts(part('pay', '')),
      parts(part('look', '{}', { index: 1, id: 'c2' })),
      parts(part(undefined, LITTLE)),
    ),
    /goes on after its end/,
  ],
  [
    'another call in a message beside the delta',
    chatStream(parts(part('pay', LITTLE)), choice({}, { message: whole('pay', MUCH) })),
    /`message`/,
  ],
  ['a call in a message alone', chatStream(choice({}, { message: whole('pay', MUCH) })), /`message`/],
  [
    'a legacy call in a message alone',
    chatStream(choice({}, { message: { role: 'assistant', function_call: { name: 'pay', arguments: MUCH } } })),
    /`message`/,
  ],
]

export const CHAT_LEGAL: Legal[] = [
  ['a whole call in one chunk', chatStream(parts(part('pay', LITTLE))), [`pay ${LITTLE}`]],
  [
    'id and name in each chunk',
    chatStream(parts(part('pay', '{"amou')), parts(part('pay', 'nt":5}'))),
    [`pay ${LITTLE}`],
  ],
  [
    'empty parts, also after the end',
    [
      ...chatStream(parts(part('pay', '')), parts(part(undefined, '')), parts(part(undefined, LITTLE))),
      parts(part(undefined, '')),
      {
        id: 'chatcmpl-1',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        choices: [],
        usage: { total_tokens: 1 },
      },
    ],
    [`pay ${LITTLE}`],
  ],
  [
    'two calls, one after the other, and the end with the last part',
    [
      choice({ role: 'assistant', content: '' }),
      parts(part('look', '')),
      parts(part(undefined, '{}')),
      parts(part('pay', '', { index: 1, id: 'c2' })),
      choice({ tool_calls: [part(undefined, LITTLE, { index: 1 })] }, { finish_reason: 'tool_calls' }),
    ],
    ['look {}', `pay ${LITTLE}`],
  ],
  [
    'a message that says what the deltas said',
    chatStream(parts(part('pay', LITTLE)), choice({}, { message: whole('pay', LITTLE) })),
    [`pay ${LITTLE}`],
  ],
  [
    'a message without calls beside the delta',
    chatStream(choice({ content: 'a' }, { message: { role: 'assistant', content: 'a' } }), parts(part('pay', LITTLE))),
    [`pay ${LITTLE}`],
  ],
]
