import { readResponse } from '@countersign/engine'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../base/json-object.js'
import { anthropic } from './anthropic/anthropic.js'
import { openaiChat } from './openai-chat/openai-chat.js'
import { openaiResponses } from './openai-responses/openai-responses.js'
import type { Provider } from './provider.js'

const fn = (name: string) => ({ type: 'function', function: { name, parameters: {} } })
const flat = (name: string) => ({ type: 'function', name, parameters: {} })
const tool = (name: string) => ({ name, input_schema: { type: 'object' } })

const chat = (rest: JsonObject = {}): JsonObject => ({
  model: 'm',
  messages: [{ role: 'user', content: 'hi' }],
  ...rest,
})
const responses = (rest: JsonObject = {}): JsonObject => ({ model: 'm', input: 'hi', ...rest })
const messages = (rest: JsonObject = {}): JsonObject => ({ ...chat(rest), max_tokens: 9 })

describe('tools that a request offers', () => {
  test.each<[string, Provider, JsonObject, string[]]>([
    [
      'functions and custom tools of chat',
      openaiChat,
      chat({ tools: [fn('a'), { type: 'custom', custom: { name: 'b' } }] }),
      ['function a', 'custom b'],
    ],
    ['legacy functions', openaiChat, chat({ functions: [{ name: 'a' }] }), ['function a']],
    ['web search of chat', openaiChat, chat({ web_search_options: {} }), ['provider web_search']],
    [
      'functions, namespaces and built-in tools of Responses',
      openaiResponses,
      responses({
        tools: [
          flat('a'),
          { type: 'namespace', name: 'n', tools: [flat('b')] },
          { type: 'web_search' },
          { type: 'mcp' },
        ],
      }),
      ['function a', 'function b', 'provider web_search', 'provider mcp'],
    ],
    [
      'tools that input items of Responses bring',
      openaiResponses,
      responses({ input: [{ type: 'additional_tools', role: 'developer', tools: [flat('late')] }] }),
      ['function late'],
    ],
    [
      'functions, client tools and server tools of Anthropic',
      anthropic,
      messages({
        tools: [
          tool('a'),
          { type: 'bash_20250124', name: 'bash' },
          { type: 'web_search_20250305', name: 'web_search' },
        ],
      }),
      ['function a', 'function bash', 'provider web_search_20250305'],
    ],
  ])('%s', (_name, provider, request, expected) => {
    const { tools, refusals } = provider.readRequest(request)
    expect(tools.map(({ kind, name }) => `${kind} ${name}`)).toEqual(expected)
    expect(refusals).toEqual([])
  })

  test.each<[string, Provider, JsonObject, RegExp]>([
    ['an unknown tool of chat', openaiChat, chat({ tools: [{ type: 'teleport' }] }), /"teleport" is not supported/],
    ['an unknown tool of Responses', openaiResponses, responses({ tools: [{ type: 'teleport' }] }), /"teleport"/],
    [
      'an unknown tool in a namespace',
      openaiResponses,
      responses({ tools: [{ type: 'namespace', tools: [{ type: 'x' }] }] }),
      /"x"/,
    ],
    ['background', openaiResponses, responses({ background: true }), /background/],
    ['a stored prompt', openaiResponses, responses({ prompt: { id: 'p' } }), /prompt/],
    [
      'a toolset of Anthropic',
      anthropic,
      messages({ tools: [{ type: 'browser_toolset_20260801' }] }),
      /browser_toolset/,
    ],
  ])('%s cannot be governed', (_name, provider, request, expected) => {
    expect(provider.readRequest(request).refusals).toEqual([expect.stringMatching(expected)])
  })
})

describe('narrowing', () => {
  test.each<[string, Provider, JsonObject, string[], JsonObject]>([
    ['keeps what is allowed', openaiChat, chat({ tools: [fn('a'), fn('b')] }), ['b'], chat({ tools: [fn('b')] })],
    [
      'leaves no empty list and no choice behind',
      openaiChat,
      chat({ tools: [fn('a')], tool_choice: 'required', parallel_tool_calls: false }),
      [],
      chat(),
    ],
    [
      'does not force a tool that is gone',
      openaiChat,
      chat({ tools: [fn('a'), fn('b')], tool_choice: { type: 'function', function: { name: 'a' } } }),
      ['b'],
      chat({ tools: [fn('b')], tool_choice: 'none' }),
    ],
    [
      'narrows the tools of a choice',
      openaiChat,
      chat({
        tools: [fn('a'), fn('b')],
        tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [fn('a'), fn('b')] } },
      }),
      ['b'],
      chat({
        tools: [fn('b')],
        tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [fn('b')] } },
      }),
    ],
    [
      'narrows legacy functions',
      openaiChat,
      chat({ functions: [{ name: 'a' }, { name: 'b' }], function_call: { name: 'a' } }),
      ['b'],
      chat({ functions: [{ name: 'b' }], function_call: 'none' }),
    ],
    ['takes web search out of chat', openaiChat, chat({ web_search_options: {} }), [], chat()],
    [
      'looks into namespaces',
      openaiResponses,
      responses({ tools: [{ type: 'namespace', name: 'n', tools: [flat('a'), flat('b')] }, { type: 'mcp' }] }),
      ['a'],
      responses({ tools: [{ type: 'namespace', name: 'n', tools: [flat('a')] }] }),
    ],
    [
      'narrows tools that input items bring',
      openaiResponses,
      responses({ input: [{ type: 'additional_tools', tools: [flat('a'), flat('b')] }] }),
      ['a'],
      responses({ input: [{ type: 'additional_tools', tools: [flat('a')] }] }),
    ],
    [
      'does not force a built-in tool that is gone',
      openaiResponses,
      responses({ tools: [flat('a'), { type: 'web_search' }], tool_choice: { type: 'web_search' } }),
      ['a'],
      responses({ tools: [flat('a')], tool_choice: 'none' }),
    ],
    [
      'knows server tools of Anthropic by their type',
      anthropic,
      messages({
        tools: [tool('a'), { type: 'web_search_20250305', name: 'web_search' }],
        tool_choice: { type: 'tool', name: 'web_search' },
      }),
      ['a', 'web_search'],
      messages({ tools: [tool('a')], tool_choice: { type: 'none' } }),
    ],
    [
      'drops an unknown kind',
      anthropic,
      messages({ tools: [{ type: 'x_toolset', name: 'a' }] }),
      ['a', 'x_toolset'],
      messages(),
    ],
  ])('%s', (_name, provider, request, allowed, expected) => {
    const before = structuredClone(request)
    expect(provider.withTools(request, new Set(allowed))).toEqual(expected)
    expect(request).toEqual(before)
  })
})

describe('texts for the model', () => {
  test('a system text comes first', () => {
    expect(openaiChat.withSystemText(chat(), 'Mind.').messages).toEqual([
      { role: 'system', content: 'Mind.' },
      { role: 'user', content: 'hi' },
    ])
    expect(openaiResponses.withSystemText(responses({ instructions: 'Be kind.' }), 'Mind.').instructions).toBe(
      'Mind.\n\nBe kind.',
    )
    expect(openaiResponses.withSystemText(responses(), 'Mind.').instructions).toBe('Mind.')
    expect(anthropic.withSystemText(messages({ system: 'Be kind.' }), 'Mind.').system).toBe('Mind.\n\nBe kind.')
    const blocks = [{ type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral' } }]
    expect(anthropic.withSystemText(messages({ system: blocks }), 'Mind.').system).toEqual([
      { type: 'text', text: 'Mind.' },
      ...blocks,
    ])
  })

  test('an appended text comes last, and roles still take turns with Anthropic', () => {
    expect(openaiChat.withAppendedText(chat(), 'Again.').messages).toHaveLength(2)
    expect(openaiResponses.withAppendedText(responses(), 'Again.').input).toEqual([
      { role: 'user', content: 'hi' },
      { role: 'system', content: 'Again.' },
    ])
    const result = { type: 'tool_result', tool_use_id: 't', content: 'ok' }
    const asked = messages({ messages: [{ role: 'user', content: [result] }] })
    expect(anthropic.withAppendedText(asked, 'Again.').messages).toEqual([
      { role: 'user', content: [result, { type: 'text', text: 'Again.' }] },
    ])
    expect(anthropic.withAppendedText(messages(), 'Again.').messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'text', text: 'Again.' },
        ],
      },
    ])
  })
})

describe('conversations', () => {
  test('calls and their results are read in each shape', () => {
    const call = { id: 'c', type: 'function', function: { name: 'a', arguments: '{"x":1}' } }
    const asked: [Provider, JsonObject][] = [
      [
        openaiChat,
        chat({
          messages: [
            { role: 'assistant', content: null, tool_calls: [call] },
            { role: 'tool', tool_call_id: 'c', content: 'ok' },
          ],
        }),
      ],
      [
        openaiResponses,
        responses({
          input: [
            { type: 'function_call', call_id: 'c', name: 'a', arguments: '{"x":1}' },
            { type: 'function_call_output', call_id: 'c', output: 'ok' },
          ],
        }),
      ],
      [
        anthropic,
        messages({
          messages: [
            { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'a', input: { x: 1 } }] },
            {
              role: 'user',
              content: [{ type: 'tool_result', tool_use_id: 'c', content: [{ type: 'text', text: 'ok' }] }],
            },
          ],
        }),
      ],
    ]
    for (const [provider, request] of asked) {
      expect(provider.readRequest(request).answeredCallIds).toEqual(['c'])
      expect(provider.readMessages(request)).toMatchObject([
        { role: 'assistant', calls: [{ id: 'c', name: 'a' }] },
        { role: 'tool', callId: 'c', text: 'ok' },
      ])
    }
  })
})

describe('responses', () => {
  test('a reasoning item goes with the call that it led to', () => {
    const reasoning = { type: 'reasoning', id: 'r', summary: [] }
    const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'a', arguments: '{}' })
    const output = [reasoning, call('1'), call('2')]
    expect(openaiResponses.keepCalls({ output }, new Set()).output).toEqual([])
    expect(openaiResponses.keepCalls({ output }, new Set(['2'])).output).toEqual([reasoning, call('2')])
  })

  test('a legacy function call is known by the id that it is read with', () => {
    const message = { role: 'assistant', content: null, function_call: { name: 'a', arguments: '{}' } }
    const response = { id: 'r', choices: [{ index: 0, message, finish_reason: 'function_call' }] }
    expect(openaiChat.keepCalls(response, new Set(['r:function_call:0']))).toEqual(response)
    expect(openaiChat.keepCalls(response, new Set())).toEqual({
      id: 'r',
      choices: [{ index: 0, message: { role: 'assistant', content: null }, finish_reason: 'stop' }],
    })
  })

  test('parallel calls that share an index are told apart by their ids', () => {
    const chunk = (tool_calls: JsonObject[], finish_reason: string | null = null) => ({
      id: 'r',
      choices: [{ index: 0, delta: { tool_calls }, finish_reason }],
    })
    const part = (id: string, name: string) => ({ index: 0, id, type: 'function', function: { name, arguments: '{}' } })
    const hold = openaiChat.readStream({})
    for (const event of [chunk([part('1', 'a')]), chunk([part('2', 'b')]), chunk([], 'tool_calls')]) hold.take(event)
    const [choice] = hold.response().choices as { message: { tool_calls: { id: string }[] } }[]
    expect(choice?.message.tool_calls.map(({ id }) => id)).toEqual(['1', '2'])
    expect(JSON.stringify(hold.releaseOnly(new Set(['2'])))).not.toContain('"1"')
  })
})

describe('a stream of Responses', () => {
  const call = (args: string) => ({ type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'pay', arguments: args })
  const ends = (output: JsonObject[]) => ({ type: 'response.completed', response: { id: 'resp_1', output } })

  test('without numbers is held from the first call on, and what is blocked is stripped', () => {
    const hold = openaiResponses.readStream(responses(), { holdAll: false })
    const events = [
      { type: 'response.output_item.added', item: call('') },
      { type: 'response.function_call_arguments.delta', item_id: 'fc_1', delta: '{"amount":5}' },
      { type: 'response.output_item.done', item: call('{"amount":5}') },
      ends([call('{"amount":5}')]),
    ]
    expect(events.flatMap((event) => hold.take(event))).toEqual([])
    expect(hold.response().output).toEqual([call('{"amount":5}')])
    expect(hold.releaseOnly(new Set())).toEqual([ends([])])
  })

  test('that ends with another call than it showed contradicts itself', () => {
    const hold = openaiResponses.readStream(responses(), { holdAll: false })
    hold.take({ type: 'response.output_item.added', output_index: 0, item: call('') })
    hold.take({ type: 'response.output_item.done', output_index: 0, item: call('{"amount":5000}') })
    hold.take(ends([call('{"amount":5}')]))
    expect(hold.contradiction()).toBe(
      'call "c1" has two arguments, in response.output_item.done and in response.completed',
    )
  })
})

describe('an Anthropic stream', () => {
  const start = (index: number, content_block: JsonObject): JsonObject => ({
    type: 'content_block_start',
    index,
    content_block,
  })
  const json = (index: number, partial_json: string): JsonObject => ({
    type: 'content_block_delta',
    index,
    delta: { type: 'input_json_delta', partial_json },
  })

  test('whose input has a key twice is judged as malformed, like a whole response', () => {
    const hold = anthropic.readStream({})
    hold.take({ type: 'message_start', message: { id: 'm', content: [] } })
    hold.take(start(0, { type: 'tool_use', id: 't', name: 'refund', input: {} }))
    hold.take(json(0, '{"amount": 9000, '))
    hold.take(json(0, '"amount": 1}'))
    const [call] = readResponse(hold.response()).calls
    expect(call).toMatchObject({ id: 't', arguments: null, problem: expect.stringContaining('amount') })
  })

  test('that begins with a call and then text is held from the call on', () => {
    const hold = anthropic.readStream({})
    const call = { type: 'tool_use', id: 't', name: 'refund', input: {} }
    const content = [call, { type: 'text', text: 'done' }]
    expect(hold.take({ type: 'message_start', message: { id: 'm', content } })).toEqual([])
    expect(hold.holding()).toBe(true)
  })
})

describe('calls of a chat that are no list', () => {
  const odd = { 0: { id: 'c', type: 'function', function: { name: 'refund', arguments: '{}' } } }

  test('are stripped from a whole response', () => {
    const message = { role: 'assistant', content: null, tool_calls: odd }
    const response = { id: 'r', choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }
    expect(readResponse(response).problems).not.toEqual([])
    expect(JSON.stringify(openaiChat.withTextOnly(response, 'no'))).not.toContain('refund')
  })

  test('are held in a stream, judged as malformed and stripped', () => {
    const hold = openaiChat.readStream({})
    const chunk = { id: 'r', choices: [{ index: 0, delta: { tool_calls: odd }, finish_reason: null }] }
    expect(hold.take(chunk)).toEqual([])
    hold.take({ id: 'r', choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] })
    expect(readResponse(hold.response()).problems).not.toEqual([])
    expect(JSON.stringify(hold.releaseOnly(new Set(), 'no'))).not.toContain('refund')
  })
})
