import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { normalizeResponse, readResponse } from './read-response.js'

const chat = (...messages: object[]) => ({
  id: 'chatcmpl-1',
  model: 'gpt-4o',
  choices: messages.map((message, index) => ({ index, finish_reason: 'tool_calls', message })),
  usage: { prompt_tokens: 10, completion_tokens: 5 },
})
const fn = (id: unknown, name: unknown, args: unknown) => ({
  id,
  type: 'function',
  function: { name, arguments: args },
})
const normalized = (...calls: unknown[]) => ({ tool_calls: calls })

describe('OpenAI chat', () => {
  test('reads calls, usage, model and finish reason', () => {
    const read = readResponse(chat({ content: null, tool_calls: [fn('c1', 'refund', '{"amount":5}')] }))
    expect(read).toEqual({
      format: 'openai-chat',
      calls: [
        {
          id: 'c1',
          name: 'refund',
          index: 0,
          choice: 0,
          kind: 'function',
          argumentsText: '{"amount":5}',
          arguments: { amount: 5 },
          problem: null,
        },
      ],
      providerRun: [],
      content: null,
      finishReason: 'tool_calls',
      model: 'gpt-4o',
      usage: { input_tokens: 10, output_tokens: 5 },
      problems: [],
    })
  })

  test('reads all choices of n', () => {
    const read = readResponse(
      chat({ content: 'a', tool_calls: [fn('c1', 'x', '{}')] }, { tool_calls: [fn('c2', 'y', '{}')] }),
    )
    expect(read.calls.map(({ name, index, choice }) => [name, index, choice])).toEqual([
      ['x', 0, 0],
      ['y', 1, 1],
    ])
  })

  test('the finish reason is unknown where choices differ', () => {
    const response = chat({ content: 'a' }, { content: 'b' })
    Object.assign(response.choices[1] as object, { finish_reason: 'length' })
    expect(readResponse(response)).toMatchObject({ finishReason: null, content: 'a\nb' })
  })

  test('a legacy function call is a call, with an id of its own', () => {
    const [call] = readResponse(chat({ content: null, function_call: { name: 'refund', arguments: '{"a":1}' } })).calls
    expect(call).toMatchObject({ kind: 'legacy', name: 'refund', arguments: { a: 1 }, problem: null })
    expect(call?.id).toBe('chatcmpl-1:function_call:0')
  })

  test('a custom tool has the argument input', () => {
    const [call] = readResponse(
      chat({ tool_calls: [{ id: 'c1', type: 'custom', custom: { name: 'sql', input: 'select "1"' } }] }),
    ).calls
    expect(call).toMatchObject({ kind: 'custom', name: 'sql', arguments: { input: 'select "1"' }, problem: null })
    expect(call?.argumentsText).toBe('{"input":"select \\"1\\""}')
  })

  test('no argument text is no argument', () => {
    const [call] = readResponse(chat({ tool_calls: [fn('c1', 'now', '')] })).calls
    expect(call).toMatchObject({ arguments: {}, argumentsText: '{}', problem: null })
  })

  test('a choice without a message is a problem', () => {
    expect(readResponse({ choices: [{ delta: {} }] }).problems).toEqual(['choice 0 has no message'])
    expect(readResponse(chat({ tool_calls: 'x' })).problems).toHaveLength(1)
  })
})

describe('OpenAI Responses', () => {
  const responses = (...output: object[]) => ({ object: 'response', status: 'completed', output })

  test('reads function calls, custom calls and text', () => {
    const read = readResponse(
      responses(
        {
          type: 'message',
          content: [
            { type: 'output_text', text: 'one ' },
            { type: 'output_text', text: 'two' },
          ],
        },
        { type: 'function_call', id: 'fc1', call_id: 'c1', name: 'refund', arguments: '{"a":1}' },
        { type: 'custom_tool_call', id: 'ct1', call_id: 'c2', name: 'sql', input: 'select 1' },
      ),
    )
    expect(read).toMatchObject({ format: 'openai-responses', content: 'one two', finishReason: 'tool_calls' })
    expect(read.calls.map(({ id, kind, arguments: args }) => [id, kind, args])).toEqual([
      ['c1', 'function', { a: 1 }],
      ['c2', 'custom', { input: 'select 1' }],
    ])
  })

  test('a tool of the provider that the program must run is a call', () => {
    const [call] = readResponse(
      responses({
        type: 'local_shell_call',
        id: 'l1',
        call_id: 'c1',
        status: 'completed',
        action: { command: ['ls'] },
      }),
    ).calls
    expect(call).toMatchObject({ kind: 'builtin', name: 'local_shell', arguments: { action: { command: ['ls'] } } })
  })

  test('an output whose id is no text says of no call that the provider ran it', () => {
    const read = readResponse(
      responses(
        { type: 'shell_call', id: 's2', call_id: 7, action: {} },
        { type: 'shell_call_output', id: 's3', call_id: 7, output: [] },
      ),
    )
    expect(read.providerRun).toEqual([])
    expect(read.calls).toMatchObject([{ kind: 'builtin', name: 'shell', problem: expect.any(String) }])
  })

  test('what the provider ran is recorded and is no call', () => {
    const read = readResponse(
      responses(
        { type: 'web_search_call', id: 'w1', status: 'completed' },
        { type: 'mcp_call', id: 'm1', name: 'create', arguments: '{}' },
        { type: 'shell_call', id: 's1', call_id: 'c1', environment: { type: 'container_auto' }, action: {} },
        { type: 'shell_call', id: 's2', call_id: 'c2', action: {} },
        { type: 'shell_call_output', id: 's3', call_id: 'c2', output: [] },
      ),
    )
    expect(read.calls).toEqual([])
    expect(read.providerRun).toEqual([
      { type: 'web_search_call', name: null, id: 'w1', arguments: {} },
      { type: 'mcp_call', name: 'create', id: 'm1', arguments: {} },
      {
        type: 'shell_call',
        name: null,
        id: 's1',
        arguments: { environment: { type: 'container_auto' }, action: {} },
      },
      { type: 'shell_call', name: null, id: 's2', arguments: { action: {} } },
    ])
    expect(read.finishReason).toBe('stop')
  })

  test('an incomplete response says why', () => {
    const incomplete = (reason: string) => ({ status: 'incomplete', incomplete_details: { reason }, output: [] })
    expect(readResponse(incomplete('max_output_tokens')).finishReason).toBe('length')
    expect(readResponse(incomplete('content_filter')).finishReason).toBe('content_filter')
  })
})

describe('Anthropic', () => {
  test('reads tool use, text and usage with cached tokens', () => {
    const read = readResponse({
      type: 'message',
      model: 'claude',
      stop_reason: 'tool_use',
      content: [
        { type: 'text', text: 'Let me see. ' },
        { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} },
        { type: 'web_search_tool_result', tool_use_id: 's1', content: [] },
        { type: 'mcp_tool_use', id: 'm1', name: 'echo', server_name: 'x', input: {} },
        { type: 'tool_use', id: 't1', name: 'refund', input: { amount: 5 } },
      ],
      usage: { input_tokens: 10, cache_read_input_tokens: 90, output_tokens: 5 },
    })
    expect(read).toMatchObject({
      format: 'anthropic',
      content: 'Let me see. ',
      finishReason: 'tool_calls',
      usage: { input_tokens: 100, output_tokens: 5 },
      calls: [{ id: 't1', name: 'refund', arguments: { amount: 5 }, argumentsText: '{"amount":5}', problem: null }],
      providerRun: [
        { type: 'server_tool_use', name: 'web_search', id: 's1' },
        { type: 'mcp_tool_use', name: 'echo', id: 'm1' },
      ],
    })
  })
})

describe('calls that cannot be judged', () => {
  const deep = JSON.parse(`${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`)
  test.each<[string, unknown, string]>([
    ['arguments that are not JSON', { id: 'c', name: 'x', arguments: '{a:1}' }, 'not JSON'],
    ['an array', { id: 'c', name: 'x', arguments: '[1]' }, 'not a JSON object'],
    ['a string', { id: 'c', name: 'x', arguments: '"a"' }, 'not a JSON object'],
    ['null', { id: 'c', name: 'x', arguments: 'null' }, 'not a JSON object'],
    ['a repeated key', { id: 'c', name: 'x', arguments: '{"a":1,"a":2}' }, 'occurs twice'],
    ['a prototype key', { id: 'c', name: 'x', arguments: '{"__proto__":{}}' }, '__proto__'],
    ['the character NUL', { id: 'c', name: 'x', arguments: '{"file":"/etc/passwd\\u0000.txt"}' }, 'NUL'],
    ['NUL in a value', { id: 'c', name: 'x', arguments: { a: ['\u0000'] } }, 'NUL'],
    ['2 MB', { id: 'c', name: 'x', arguments: JSON.stringify({ a: 'x'.repeat(2_000_000) }) }, 'longer'],
    [
      '129 KiB of two-byte characters',
      { id: 'c', name: 'x', arguments: JSON.stringify({ a: 'é'.repeat(66_000) }) },
      'longer',
    ],
    ['no arguments', { id: 'c', name: 'x' }, 'no arguments'],
    ['a deep value', { id: 'c', name: 'x', arguments: deep }, 'deeper'],
    ['no id', { name: 'x', arguments: '{}' }, 'no id'],
    ['an empty id', { id: '', name: 'x', arguments: '{}' }, 'no id'],
    ['a number as id', { id: 7, name: 'x', arguments: '{}' }, 'no id'],
    ['a long id', { id: 'c'.repeat(129), name: 'x', arguments: '{}' }, 'longer'],
    ['no name', { id: 'c', arguments: '{}' }, 'no tool name'],
    ['a long name', { id: 'c', name: 'x'.repeat(257), arguments: '{}' }, 'longer'],
    ['half a character in the name', { id: 'c', name: '\ud800', arguments: '{}' }, 'well-formed'],
    ['not an object', 5, 'no id'],
  ])('%s', (_name, call, problem) => {
    const [read] = readResponse(normalized(call)).calls
    expect(read?.problem).toContain(problem)
    expect(read?.arguments).toBeNull()
  })

  test('text that only looks like an escaped NUL is no NUL', () => {
    const [read] = readResponse(normalized({ id: 'c', name: 'x', arguments: '{"a":"\\\\u0000"}' })).calls
    expect(read).toMatchObject({ problem: null, arguments: { a: '\\u0000' } })
  })

  test('two calls with one id are both refused', () => {
    const same = { id: 'c', name: 'x', arguments: '{}' }
    const { calls } = readResponse(normalized(same, { ...same, name: 'y' }, { ...same, id: 'd' }))
    expect(calls.map((call) => call.problem !== null)).toEqual([true, true, false])
  })

  test('of 10,000 calls 64 are read, and the response is a problem', () => {
    const many = Array.from({ length: 10_000 }, (_, index) => ({ id: `c${index}`, name: 'x', arguments: '{}' }))
    const read = readResponse(normalized(...many))
    expect(read.calls).toHaveLength(64)
    expect(read.problems).toHaveLength(1)
  })

  test('a list of any length does not exhaust the stack', () => {
    const read = readResponse(chat({ tool_calls: new Array(500_000).fill({}) }))
    expect(read.problems).toHaveLength(1)
  })
})

test.each([null, 5, 'x', [], {}, { choices: 'x' }, { content: 'x' }])(
  'an unknown shape is a problem: %j',
  (response) => {
    const read = readResponse(response)
    expect(read).toMatchObject({ format: 'unknown', calls: [] })
    expect(read.problems).toHaveLength(1)
  },
)

test('a response with the marks of two shapes is read as neither', () => {
  expect(readResponse({ choices: [], tool_calls: [{ id: 'c', name: 'x', arguments: '{}' }] })).toMatchObject({
    format: 'unknown',
    calls: [],
    problems: [expect.stringContaining('several shapes')],
  })
})

test('the normalized form reads back as itself', () => {
  const read = readResponse(chat({ content: 'hi', tool_calls: [fn('c1', 'x', '{"a":[1,2]}'), fn('c2', 'y', '')] }))
  const again = readResponse(normalizeResponse(read))
  expect(again).toMatchObject({ format: 'normalized', content: 'hi', finishReason: 'tool_calls' })
  expect(again.calls).toEqual(read.calls)
})

test('no value makes reading throw', () => {
  const anything = fc.anything()
  fc.assert(
    fc.property(fc.constantFrom('choices', 'output', 'content', 'tool_calls'), fc.array(anything), (key, list) => {
      for (const response of [list, { [key]: list }, { choices: [{ message: { [key]: list } }] }]) {
        expect(() => readResponse(response)).not.toThrow()
      }
    }),
  )
})
