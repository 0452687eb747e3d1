import { type Contradiction, type Legal, LITTLE, MUCH } from './stream-case.js'

type JsonObject = { [key: string]: unknown }

const response = (output: JsonObject[], status = 'completed'): JsonObject => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status,
  model: 'm',
  output,
  tools: [],
})
const called = (name: string, args: string, rest: JsonObject = {}): JsonObject => ({
  type: 'function_call',
  id: 'fc_1',
  call_id: 'c1',
  name,
  arguments: args,
  ...rest,
})
const created = (output: JsonObject[] = []): JsonObject => ({
  type: 'response.created',
  response: response(output, 'in_progress'),
})
const added = (item: JsonObject, output_index = 0): JsonObject => ({
  type: 'response.output_item.added',
  output_index,
  item,
})
const done = (item: JsonObject, output_index = 0): JsonObject => ({
  type: 'response.output_item.done',
  output_index,
  item,
})
const grows = (delta: unknown, rest: JsonObject = {}): JsonObject => ({
  type: 'response.function_call_arguments.delta',
  output_index: 0,
  item_id: 'fc_1',
  delta,
  ...rest,
})
const grown = (args: string, rest: JsonObject = {}): JsonObject => ({
  type: 'response.function_call_arguments.done',
  output_index: 0,
  item_id: 'fc_1',
  arguments: args,
  ...rest,
})
const completed = (...output: JsonObject[]): JsonObject => ({ type: 'response.completed', response: response(output) })
const little = called('pay', LITTLE)
const begun = added(called('pay', ''))
const shell = (command: string, rest: JsonObject = {}): JsonObject => ({
  type: 'local_shell_call',
  id: 'lsh_1',
  call_id: 'c1',
  status: 'completed',
  action: { type: 'exec', command: [command], env: {} },
  ...rest,
})
const inShell = (command: string): JsonObject => ({
  type: 'shell_call',
  id: 'sh_1',
  call_id: 'c1',
  action: { commands: [command] },
})

export const RESPONSES: Contradiction[] = [
  [
    'an item of a kind that nobody knows',
    [
      created(),
      done({ ...called('pay', MUCH), type: 'function_call_v2' }),
      completed({ ...called('pay', MUCH), type: 'function_call_v2' }),
    ],
    /"function_call_v2" looks like a call/,
  ],
  [
    'an item with an id to answer, of an unknown kind',
    [created(), done({ type: 'local_exec', id: 'l1', call_id: 'c1', action: { command: ['pay', MUCH] } }), completed()],
    /"local_exec" looks like a call/,
  ],
  [
    'a call without an id, as if the provider had run it',
    [created(), done({ type: 'client_call', name: 'pay', arguments: MUCH }), completed()],
    /"client_call" looks like a call/,
  ],
  [
    'an item in capitals beside the one that is known',
    [created(), { ...done({ type: 'message', content: [] }), Item: called('pay', MUCH) }, completed()],
    /the member "Item" for another one/,
  ],
  [
    'an event that brings a call, and that nobody knows',
    [created(), { type: 'response.function_call_v2.done', name: 'pay', arguments: MUCH }, completed()],
    /"response.function_call_v2.done" looks like a call/,
  ],
  [
    'an output in capitals at the end',
    [created(), { ...completed(), response: { ...response([]), Output: [called('pay', MUCH)] } }],
    /the member "Output" for another one/,
  ],
  [
    'a delta that is a list, which joins a text as its own',
    [created(), begun, grows([MUCH]), done(little), completed(little)],
    /two arguments/,
  ],
  [
    'an item whose name is a list, which names a member as its text does',
    [created(), added({ ...little, name: ['look'] }), done(little), completed(little)],
    /two names/,
  ],
  [
    'deltas against the end of the arguments',
    [created(), begun, grows(MUCH), grown(LITTLE), done(little), completed(little)],
    /two arguments/,
  ],
  [
    'the end of the arguments against the item',
    [created(), begun, grows(LITTLE), grown(MUCH), done(little), completed(little)],
    /two arguments/,
  ],
  [
    'the end of the arguments names another tool',
    [created(), begun, grows(LITTLE), grown(LITTLE, { name: 'look' }), done(little), completed(little)],
    /two names/,
  ],
  [
    'the item as it was added has other arguments',
    [created(), added(called('pay', MUCH)), done(little), completed(little)],
    /two arguments/,
  ],
  [
    'the item as it was added is another tool',
    [created(), added(called('look', '')), grows(LITTLE), done(little), completed(little)],
    /two names/,
  ],
  [
    'the item as it was added is another call',
    [created(), added(called('pay', '', { call_id: 'c9' })), grows(LITTLE), done(little), completed(little)],
    /two call ids/,
  ],
  ['the item against the response', [created(), begun, done(called('pay', MUCH)), completed(little)], /two arguments/],
  ['the response against the item', [created(), begun, done(little), completed(called('pay', MUCH))], /two arguments/],
  [
    'an item is done twice',
    [created(), begun, done(called('pay', MUCH)), done(little), completed(little)],
    /two arguments/,
  ],
  [
    'an item without arguments against the response',
    [created(), begun, done(called('pay', '')), completed(little)],
    /two arguments/,
  ],
  [
    'a message that ends as a call in one place only',
    [
      created(),
      added({ type: 'message', id: 'fc_1', role: 'assistant', content: [] }),
      done(called('pay', MUCH)),
      completed({ type: 'message', id: 'fc_1', role: 'assistant', content: [] }),
    ],
    /two types/,
  ],
  [
    'a call in the response as it was created',
    [created([called('pay', MUCH)]), begun, done(little), completed(little)],
    /response\.created/,
  ],
  [
    'arguments of an item that never came',
    [created(), grown(MUCH, { name: 'pay', item_id: 'fc_9', output_index: 7 }), completed()],
    /no event brought/,
  ],
  [
    'arguments of one item under the number of another',
    [
      created(),
      begun,
      added(called('look', '', { id: 'fc_2', call_id: 'c2' }), 1),
      grows(LITTLE, { output_index: 0, item_id: 'fc_2' }),
      done(little),
      done(called('look', '{}', { id: 'fc_2', call_id: 'c2' }), 1),
      completed(little, called('look', '{}', { id: 'fc_2', call_id: 'c2' })),
    ],
    /two items/,
  ],
  [
    'two items under one number',
    [
      created(),
      begun,
      added(called('look', '', { id: 'fc_2', call_id: 'c2' })),
      grows(MUCH, { item_id: 'fc_1' }),
      done(called('look', '{}', { id: 'fc_2', call_id: 'c2' })),
      completed(little, called('look', '{}', { id: 'fc_2', call_id: 'c2' })),
    ],
    /two (items|arguments)/,
  ],
  [
    'another event that brings an item',
    [
      created(),
      begun,
      { ...done(called('pay', MUCH)), type: 'response.output_item.changed' },
      done(little),
      completed(little),
    ],
    /two arguments/,
  ],
  [
    'a shell command against the response',
    [created(), done(shell('rm 501.875')), completed(shell('ls'))],
    /two actions/,
  ],
  [
    'a command in pieces against the item',
    [
      created(),
      added(inShell('ls')),
      { type: 'response.shell_call_command.done', output_index: 0, command_index: 0, command: 'rm 501.875' },
      done(inShell('ls')),
      completed(inShell('ls')),
    ],
    /two commands/,
  ],
  [
    'a command that was run by the provider in one place only',
    [
      created(),
      added(inShell('')),
      done(inShell('rm 501.875')),
      completed(inShell('rm 501.875'), { type: 'shell_call_output', call_id: 'c1', output: [] }),
    ],
    /in one place/,
  ],
]

export const RESPONSES_LEGAL: Legal[] = [
  [
    'every event',
    [
      created(),
      begun,
      grows('{"amount'),
      grows('":5}'),
      grown(LITTLE, { name: 'pay' }),
      done(little),
      completed(little),
    ],
    [`pay ${LITTLE}`],
  ],
  ['no deltas', [created(), begun, grown(LITTLE), done(little), completed(little)], [`pay ${LITTLE}`]],
  ['no ends', [created(), begun, grows(LITTLE), completed(little)], [`pay ${LITTLE}`]],
  ['nothing but the response', [created(), completed(little)], [`pay ${LITTLE}`]],
  [
    'a response without its output',
    [created(), begun, grows(LITTLE), grown(LITTLE), done(little), completed()],
    [`pay ${LITTLE}`],
  ],
  [
    'the whole call as it was added, and again',
    [created(), added(little), grows(LITTLE), grown(LITTLE), done(little), completed(little)],
    [`pay ${LITTLE}`],
  ],
  [
    'the same arguments spaced otherwise',
    [created(), begun, grows('{ "amount": 5 }'), grown('{ "amount": 5 }'), done(little), completed(little)],
    [`pay ${LITTLE}`],
  ],
  [
    'an id of its own in each event',
    [
      created(),
      added(called('pay', '', { id: 'x1' })),
      grows(LITTLE, { item_id: 'x2' }),
      grown(LITTLE, { item_id: 'x3' }),
      done(called('pay', LITTLE, { id: 'x4' })),
      completed(called('pay', LITTLE, { id: 'x5' })),
    ],
    [`pay ${LITTLE}`],
  ],
  [
    'a call without arguments, written in two ways',
    [created(), added(called('look', '')), grown(''), done(called('look', '')), completed(called('look', '{}'))],
    ['look {}'],
  ],
  [
    'the parts of an item before it',
    [created(), grows(LITTLE), grown(LITTLE), done(little), completed(little)],
    [`pay ${LITTLE}`],
  ],
]
