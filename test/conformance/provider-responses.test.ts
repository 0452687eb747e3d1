import { readResponse, type ToolCall } from '@countersign/engine'
import { describe, expect, test } from 'vitest'
import { describeShared } from '../support/data/describe-shared.js'
import { readSharedLines } from '../support/data/shared-data.js'

interface Recorded {
  id: string
  format: 'openai-chat' | 'openai-responses' | 'anthropic-messages'
  // biome-ignore lint/suspicious/noExplicitAny: the provider's own JSON, read here in another way than by the engine
  response: any
}

interface Expected {
  calls: Pick<ToolCall, 'id' | 'name' | 'kind' | 'arguments'>[]
  providerRun: [type: string, id: string | null][]
}

const SUITE = 'conformance/streams/responses.jsonl.gz'

/** Which items of the Responses API the program must run, written out; what they hold beside these keys is argument. */
const RUN_BY_PROGRAM = new Set(['local_shell_call', 'apply_patch_call'])
const RUN_BY_PROVIDER = new Set([
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'mcp_call',
  'mcp_list_tools',
  'mcp_approval_request',
  'program',
])
const NO_TOOL = new Set(['message', 'reasoning', 'shell_call_output', 'tool_search_output', 'program_output'])

describeShared('recorded provider responses', SUITE, () => {
  const recorded = readSharedLines<Recorded>(SUITE)

  test('there are 88, of three shapes', () => {
    const count = (format: string) => recorded.filter((each) => each.format === format).length
    expect([count('openai-chat'), count('openai-responses'), count('anthropic-messages')]).toEqual([22, 35, 31])
  })

  describe.each(recorded.map((each) => [each.id, each] as const))('%s', (_id, { format, response }) => {
    const read = readResponse(response)

    test('is known by its shape and has no problem', () => {
      expect(read.format).toBe(format === 'anthropic-messages' ? 'anthropic' : format)
      expect(read.problems).toEqual([])
      expect(read.calls.filter((call) => call.problem !== null)).toEqual([])
    })

    test('gives exactly its calls, in order, and exactly what the provider ran', () => {
      const { calls, providerRun } = EXPECT[format](response)
      expect(read.calls.map(({ id, name, kind, arguments: args }) => ({ id, name, kind, arguments: args }))).toEqual(
        calls,
      )
      expect(read.calls.map((call) => call.index)).toEqual(calls.map((_, index) => index))
      expect(read.providerRun.map(({ type, id }) => [type, id])).toEqual(providerRun)
    })

    test('gives its model, its usage and a reason to stop', () => {
      expect(read.model).toBe(response.model)
      const { usage } = response
      const cached = (usage.cache_creation_input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0)
      expect(read.usage).toEqual({
        input_tokens: (usage.prompt_tokens ?? usage.input_tokens) + (format === 'anthropic-messages' ? cached : 0),
        output_tokens: usage.completion_tokens ?? usage.output_tokens,
      })
      expect(read.finishReason).not.toBeNull()
    })
  })

  test('the text of a response is kept whole', () => {
    for (const { id, format, response } of recorded) {
      if (format !== 'anthropic-messages') continue
      const texts = response.content.filter((block: { type: string }) => block.type === 'text')
      const text = texts.map((block: { text: string }) => block.text).join('')
      expect.soft(readResponse(response).content, id).toBe(texts.length === 0 ? null : text)
    }
  })
})

const EXPECT: Record<Recorded['format'], (response: Recorded['response']) => Expected> = {
  'openai-chat': (response) => ({
    calls: (response.choices[0].message.tool_calls ?? []).map((call: Recorded['response']) => ({
      id: call.id,
      name: call.function.name,
      kind: 'function',
      arguments: JSON.parse(call.function.arguments),
    })),
    providerRun: [],
  }),
  'anthropic-messages': (response) => ({
    calls: response.content
      .filter((block: Recorded['response']) => block.type === 'tool_use')
      .map(({ id, name, input }: Recorded['response']) => ({ id, name, kind: 'function', arguments: input })),
    providerRun: response.content
      .filter((block: Recorded['response']) => ['server_tool_use', 'mcp_tool_use'].includes(block.type))
      .map(({ type, id }: Recorded['response']) => [type, id]),
  }),
  'openai-responses': (response) => {
    const expected: Expected = { calls: [], providerRun: [] }
    for (const item of response.output) expectItem(item, expected)
    return expected
  },
}

function expectItem(item: Recorded['response'], { calls, providerRun }: Expected): void {
  const { id, type, call_id, status: _status, ...rest } = item
  const builtin = (name: string) => calls.push({ id: call_id, name, kind: 'builtin', arguments: rest })
  if (type === 'function_call') {
    calls.push({ id: call_id, name: item.name, kind: 'function', arguments: JSON.parse(item.arguments) })
  } else if (type === 'custom_tool_call') {
    calls.push({ id: call_id, name: item.name, kind: 'custom', arguments: { input: item.input } })
  } else if (RUN_BY_PROGRAM.has(type)) builtin(type.replace('_call', ''))
  else if (type === 'shell_call') item.environment === undefined ? builtin('shell') : providerRun.push([type, id])
  else if (type === 'tool_search_call') {
    item.execution === 'client' ? builtin('tool_search') : providerRun.push([type, id])
  } else if (RUN_BY_PROVIDER.has(type)) providerRun.push([type, id])
  else expect(NO_TOOL).toContain(type)
}
