import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { openSession, validate } from '../../../packages/sdk/src/index.js'
import { throughRuntime, withGateways } from '../../support/gateway/gateway.js'
import { plainMcpServer } from '../../support/gateway/mcp-server.js'
import { proves } from '../../support/proves.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime } = await withRuntime()
const gateways = await withGateways(runtime)
const { provider } = gateways
const shop = plainMcpServer(['pay'])
const sentToShop: string[] = []
const through = throughRuntime(runtime)
const bound = { side_effect: 'read' as const, argument_value_invariants: [{ path: '$.amount', lte: 40 }] }
const contracts = [
  { tool: 'pay', ...bound },
  { tool: 'shop__pay', ...bound },
]
const agent = await gateways.agentWith(contracts)
const gateway = await gateways.start(
  { mcp: `shop=${shop.url}` },
  {
    fetch: (input, init) => {
      if (!String(input).startsWith(shop.url)) return through(input, init)
      sentToShop.push(String(init?.body))
      return shop.fetch(input, init)
    },
  },
)

/** Some reader takes each of these for more than 40. */
const TRICKS = {
  case: '{"amount":10,"Amount":900}',
  unseen: '{"amount":10,"amo\\u200bunt":900}',
  deep: '{"amount":10,"x":[{"y":1,"Y":900}]}',
  twice: '{"amount":10,"amount":900}',
  digits: '{"amount":40.000000000000000000001}',
}
const GOOD = '{"amount":10,"Note":{"a":1}}'

const post = async (url: string, body: string | object, headers = {}) => {
  const reply = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return reply.text().catch(() => 'broken off')
}

type Wire = Readonly<{ path: string; body: object; whole(text: string): string; events(text: string): unknown[] }>
const ask = { model: 'm', messages: [{ role: 'user', content: 'go' }] }
const quoted = JSON.stringify
const WIRES: Readonly<Record<string, Wire>> = {
  chat: {
    path: 'openai/v1/chat/completions',
    body: { ...ask, tools: [{ type: 'function', function: { name: 'pay', parameters: {} } }] },
    whole: (text) =>
      `{"id":"r","object":"chat.completion","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"pay","arguments":${quoted(text)}}}]}}]}`,
    events: (text) => [
      {
        choices: [
          {
            index: 0,
            delta: { tool_calls: [{ index: 0, id: 'call_1', function: { name: 'pay', arguments: text } }] },
          },
        ],
      },
      { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
    ],
  },
  responses: {
    path: 'openai/v1/responses',
    body: { model: 'm', input: 'go', tools: [{ type: 'function', name: 'pay', parameters: {} }] },
    whole: (text) =>
      `{"id":"r","status":"completed","output":[{"type":"function_call","call_id":"call_1","name":"pay","arguments":${quoted(text)}}]}`,
    events: (text) => {
      const item = { type: 'function_call', call_id: 'call_1', name: 'pay', arguments: text }
      const response = { id: 'r', status: 'completed', output: [item] }
      return [
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response },
      ]
    },
  },
  anthropic: {
    path: 'anthropic/v1/messages',
    body: { ...ask, max_tokens: 9, tools: [{ name: 'pay', input_schema: { type: 'object' } }] },
    whole: (text) =>
      `{"id":"r","type":"message","role":"assistant","stop_reason":"tool_use","content":[{"type":"tool_use","id":"call_1","name":"pay","input":${text}}]}`,
    events: (text) => [
      { type: 'message_start', message: { id: 'r', type: 'message', role: 'assistant', content: [] } },
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'tool_use', id: 'call_1', name: 'pay', input: {} },
      },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: text } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
      { type: 'message_stop' },
    ],
  },
}

proves('guarantee.one-reading', 'on the wire, whole and streamed', async () => {
  for (const [wire, { path, body, whole, events }] of Object.entries(WIRES)) {
    const url = `${gateway.url}/${agent}/${path}`
    const answer = (text: string) => {
      provider.enqueue({ response: whole(text) })
      return post(url, body)
    }
    const stream = (text: string) => {
      provider.enqueue({ events: events(text) })
      return post(url, { ...body, stream: true })
    }
    for (const get of [answer, stream]) {
      expect([wire, await get(GOOD)]).toEqual([wire, expect.stringContaining('call_1')])
      for (const [trick, text] of Object.entries(TRICKS)) {
        const said = await get(text)
        // A number that stands in the answer itself, not in a text of it, is written anew, as it was judged.
        if (wire === 'anthropic' && get === answer && trick === 'digits') {
          expect(said).toContain('"input":{"amount":40}')
          continue
        }
        expect([wire, trick, said]).toEqual([wire, trick, expect.not.stringContaining('call_1')])
        expect([wire, trick, said]).toEqual([
          wire,
          trick,
          expect.stringMatching(/response_format_invalid|duplicate member/),
        ])
      }
    }
  }
})

const look = { id: 'call_1', type: 'function', function: { name: 'pay', arguments: '{"amount":1}' } }
const much = { name: 'pay', arguments: '{"amount":501.875}' }
const chat = (message: object, beside: object = {}, choice: object = {}) => ({
  id: 'r',
  object: 'chat.completion',
  choices: [
    { index: 0, finish_reason: 'tool_calls', message: { role: 'assistant', content: null, ...message }, ...choice },
  ],
  ...beside,
})
const responses = (...output: object[]) => ({ id: 'r', status: 'completed', output })
const anthropic = (...content: object[]) => ({
  id: 'r',
  type: 'message',
  role: 'assistant',
  stop_reason: 'tool_use',
  content,
})
const item = { type: 'function_call', call_id: 'call_1', ...much }
const block = { type: 'tool_use', id: 'call_1', name: 'pay', input: { amount: 501.875 } }
const ODD: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  chat: {
    'choices in capitals': chat({ tool_calls: [look] }, { Choices: chat({ tool_calls: [much] }).choices }),
    'choices in capitals alone': { id: 'r', Choices: chat({ tool_calls: [{ id: 'x', function: much }] }).choices },
    'a function in capitals': chat({ tool_calls: [{ ...look, Function: much }] }),
    'a name in capitals alone': chat({
      tool_calls: [{ ...look, function: { ...look.function, Name: 'wipe501.875' } }],
    }),
    'a delta beside the message': chat({ content: 'a' }, {}, { delta: { tool_calls: [{ id: 'x', function: much }] } }),
    'the output of another API': chat({ tool_calls: [look] }, { output: [item] }),
    'an output without anything in it': chat({ tool_calls: [look] }, { output: [] }),
    'the content of another API': chat({ tool_calls: [look] }, { content: [block] }),
    'a block among the parts of a text': chat({ content: [{ type: 'text', text: 'a' }, block] }),
    'a call in the shape of Gemini': chat({ content: [{ functionCall: { name: 'pay', args: { amount: 501.875 } } }] }),
    'calls beside the choices': chat(
      { content: 'a' },
      { function_calls: [{ name: 'pay', args: { amount: 501.875 } }] },
    ),
    'a function with two inputs': chat({
      tool_calls: [{ ...look, function: { ...look.function, parameters: '{"amount":501.875}' } }],
    }),
    'calls under another name': chat({ content: 'a', tool_calls_v2: [{ id: 'x', ...much }] }),
  },
  responses: {
    'an item of another kind': responses({ ...item, type: 'function_call_v2' }),
    'an item of another kind, with an id to answer': responses({
      type: 'shell_call_v2',
      call_id: 'call_1',
      action: { commands: ['pay 501.875'] },
    }),
    'an item with two inputs': responses({ ...item, arguments: '{"amount":1}', input: '{"amount":501.875}' }),
    'an item without a kind': responses({ call_id: 'x', ...much }),
    'a call in a message': responses({ type: 'message', role: 'assistant', content: [item] }),
    'an output in capitals': { ...responses(), Output: [item] },
  },
  anthropic: {
    'a block of another kind': anthropic({ ...block, type: 'tool_use_v2' }),
    'a block that sounds as if the provider ran it': anthropic({ ...block, type: 'client_tool_use' }),
    'an input in capitals': anthropic({ ...block, input: { amount: 1 }, Input: { amount: 501.875 } }),
    'a block with the parameters of another API': anthropic({
      type: 'tool',
      name: 'pay',
      parameters: { amount: 501.875 },
    }),
    'a block in a result': anthropic({ type: 'text', text: 'a' }, { type: 'x_result', content: [block] }),
  },
}

proves('guarantee.known-shapes', 'nothing that another reader takes for a call is left in an answer', async () => {
  for (const [wire, answers] of Object.entries(ODD)) {
    const { path, body } = WIRES[wire] as Wire
    for (const [what, response] of Object.entries(answers)) {
      provider.enqueue({ response })
      const said = await post(`${gateway.url}/${agent}/${path}`, body)
      expect([what, said]).toEqual([what, expect.stringContaining('response_format_invalid')])
      expect([what, said]).toEqual([what, expect.not.stringMatching(/501\.875|call_1/)])
      const { pass } = validate(response, { contracts, unmatchedPolicy: 'allow' })
      expect([what, pass]).toEqual([what, false])
    }
  }
})

proves('guarantee.known-shapes', 'what providers send beside calls passes', async () => {
  const known: Readonly<Record<string, object>> = {
    chat: chat(
      {
        content: 'a',
        annotations: [{ type: 'url_citation', url_citation: { title: 'T', Url: 'x' } }],
        executed_tools: [{ index: 0, type: 'search', name: 'search', arguments: '{}', output: 'x' }],
      },
      { usage: { prompt_tokens: 1 }, x_groq: { id: 'g' }, system_fingerprint: 'f' },
      { logprobs: { content: [{ token: 'a', logprob: -0.1 }] }, finish_reason: 'stop' },
    ),
    responses: {
      ...responses(
        { type: 'file_search_call', id: 'f', results: [{ attributes: { name: 'n', input: 'i' } }] },
        { type: 'mcp_call', id: 'm', name: 'echo', arguments: '{}', server_label: 's', output: 'x' },
        { type: 'custom_tool_call_output', call_id: 'x', output: [{ name: 'n', input: 'i' }] },
        { type: 'telepathy', id: 't', thought: { said: 'a' } },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'a' }] },
      ),
      prompt: { id: 'p', variables: { name: 'n', input: 'i' } },
      text: { format: { type: 'json_schema', name: 'f', schema: { examples: [{ name: 'n', input: 'i' }] } } },
      tools: [{ type: 'function', name: 'pay', parameters: {} }],
      metadata: { name: 'n', input: 'i' },
    },
    anthropic: anthropic(
      { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } },
      {
        type: 'web_search_tool_result',
        tool_use_id: 's',
        content: [{ type: 'web_search_result', url: 'u', title: 't' }],
      },
      { type: 'mcp_tool_result', tool_use_id: 's', content: [{ name: 'n', input: 'i' }] },
      { type: 'text', text: 'a' },
    ),
  }
  for (const [wire, response] of Object.entries(known)) {
    const { path, body } = WIRES[wire] as Wire
    provider.enqueue({ response })
    expect(await post(`${gateway.url}/${agent}/${path}`, body)).toBe(JSON.stringify(response))
  }
})

proves('guarantee.one-reading', 'as a call of an MCP tool', async () => {
  const call = (text: string) =>
    post(
      `${gateway.url}/${agent}/mcp/shop`,
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":${text}}}`,
      { authorization: `Bearer ${runtime.key}`, 'x-countersign-session': 'ses_reading' },
    )
  expect(await call(GOOD)).toContain('done')
  expect(shop.ran.splice(0)).toHaveLength(1)
  for (const [trick, text] of Object.entries(TRICKS)) {
    const said = await call(text)
    if (trick === 'digits') {
      // Written anew: the server gets the number that was judged.
      expect(shop.ran.splice(0)).toEqual(['pay {"amount":40}'])
      expect(sentToShop.at(-1)).toContain('{"amount":40}')
      continue
    }
    expect([trick, said]).toEqual([trick, expect.stringMatching(/remove one|occurs twice/)])
    expect([trick, shop.ran]).toEqual([trick, []])
  }
})

proves('gateway.hooks.one-reading', 'a hook whose body could be read in two ways lets no call run', async () => {
  const session_id = randomUUID()
  const hook = (event: string, more: string) =>
    post(
      `${gateway.url}/${agent}/hooks/claude-code`,
      `{"session_id":"${session_id}","hook_event_name":"${event}","tool_use_id":"t${randomUUID()}",${more}}`,
    )
  const before = (more: string) => hook('PreToolUse', more)
  expect(await before(`"tool_name":"Read","tool_input":{}`)).toContain('unmatched_tool_blocked')
  const refusals = [
    ...Object.values(TRICKS).map((text) => `"tool_name":"pay","tool_input":${text}`),
    '"tool_name":"pay","tool_name":"wipe","tool_input":{}',
    '"tool_name":"pay","tool_input":{"amount":1},"tool_input":{"amount":900}',
    '"tool_name":"pay","tool_input":{"amount":1},"Tool_Input":{"amount":900}',
    '"tool_name":"pay","Tool_Input":{"amount":900}',
    '"tool_name":"pay","tool_input":{"amount":1},"tool\\u200b_input":{"amount":900}',
    '"tool_name":"pay","Tool_Name":"wipe","tool_input":{}',
    `"tool_name":"pay","tool_input":${quoted('{"amount":1}')}`,
    '"tool_name":"pay","tool_input":[{"amount":1}]',
  ]
  for (const more of refusals) {
    const said = await before(more)
    expect([more, said]).toEqual([more, expect.stringMatching(/"deny"|countersign_body_invalid/)])
  }
  expect(await before('"tool_name":"pay","tool_input":{"amount":10}')).toBe('{}')
  // An outcome is told whatever a tool has given.
  expect(await hook('PostToolUse', '"tool_name":"x","tool_response":{"n":12345678901234567890,"N":1e-400}')).toBe('{}')
  const odd = `{"\\ud800":"\\udfff","deep":${'['.repeat(60)}${']'.repeat(60)},"__proto__":1}`
  for (const event of ['PostToolUse', 'PostToolUseFailure'])
    expect(await hook(event, `"tool_name":"x","tool_response":${odd}`)).toBe('{}')
  expect(await hook('PostToolUse', '"tool_name":"x","tool_response":1,"tool_response":2')).toContain('body_invalid')
})

proves('guarantee.one-reading', 'in a session without a server, and in a validation', async () => {
  for (const [trick, text] of Object.entries({ ...TRICKS, good: GOOD })) {
    const isGood = trick === 'good'
    const { pass } = validate({ tool_calls: [{ id: 'c', name: 'pay', arguments: text }] }, { contracts })
    expect([trick, pass]).toEqual([trick, isGood])
    const session = openSession({ contracts, tools: { pay: () => 'paid' }, diagnostics: () => {} })
    const turn = await session.prepare({ model: 'm', tools: ['pay'], messages: [{ role: 'user', text: 'go' }] })
    const [verdict] = await turn.propose({ calls: [{ id: 'c', name: 'pay', arguments: text }] })
    expect([trick, verdict?.verdict]).toEqual([trick, isGood ? 'allow' : 'block'])
    await session.close()
  }
})
