import { readResponse } from '@countersign/engine'
import type { CaptureLevel } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../base/json-object.js'
import { openaiChat } from '../providers/openai-chat/openai-chat.js'
import { openaiResponses } from '../providers/openai-responses/openai-responses.js'
import type { Provider } from '../providers/provider.js'
import { captureItem, createCaptureWriter, type Observation } from './capture-item.js'

const refund = {
  type: 'function',
  function: { name: 'refund', parameters: { type: 'object', properties: { note: { type: 'string' } } } },
}
const unnamed = { type: 'function', function: { name: '' } }
const CHAT = { model: 'gpt-test', messages: [{ role: 'user', content: 'refund "17",\n\u2028 please' }] }
const ANSWER = {
  model: 'gpt-test',
  choices: [
    {
      message: {
        content: 'One \\ moment.',
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'refund', arguments: '{"note":"a \\"b\\""}' } },
        ],
      },
      finish_reason: 'tool_calls',
    },
  ],
  usage: { prompt_tokens: 3, completion_tokens: 4 },
}

function observation(
  request: JsonObject,
  level: CaptureLevel = 'redacted',
  provider: Provider = openaiChat,
): Observation {
  return {
    captureId: 'capture-1',
    agent: 'an "agent"',
    captureLevel: level,
    conversationId: 'conversation-1',
    timestamp: new Date(0),
    provider: provider.name,
    request,
    view: provider.readRequest(request),
    response: readResponse(ANSWER),
    latencyMs: 12.5,
    flows: { calls: [] },
  }
}

describe('captures written in one go', () => {
  test.each([
    ['no tools', CHAT],
    ['tools', { ...CHAT, tools: [refund, unnamed, { ...refund }] }],
    [
      'a choice among tools',
      { ...CHAT, tools: [refund], tool_choice: { type: 'function', function: { name: 'refund' } } },
    ],
    ['nothing known of the request', {}],
  ])('say what the items say: %s', (_name, request) => {
    for (const level of ['metadata', 'redacted', 'full'] as const) {
      const write = createCaptureWriter()
      const seen = observation(request, level)
      for (const text of [write(seen), write(seen)]) expect(JSON.parse(text)).toEqual(captureItem(seen))
    }
  })

  test('a definition that two methods read in two ways is written in two ways', () => {
    const definition = { ...refund, name: 'refund_by_responses', parameters: { type: 'object' } }
    const write = createCaptureWriter()
    const names = [openaiChat, openaiResponses, openaiChat].map(
      (provider) => JSON.parse(write(observation({ tools: [definition] }, 'metadata', provider))).request.tools[0].name,
    )
    expect(names).toEqual(['refund', 'refund_by_responses', 'refund'])
  })

  test('requests with other tools in between say what they offer', () => {
    const mail = { type: 'function', function: { name: 'send_mail' } }
    const offers = [[refund], [mail], [refund, mail], [refund, mail], [mail, refund], [], [{ ...refund }], [refund]]
    const write = createCaptureWriter()
    for (const tools of offers) {
      const seen = observation({ ...CHAT, tools })
      expect(JSON.parse(write(seen))).toEqual(captureItem(seen))
    }
  })

  test('what changes from one go to the next is written anew', () => {
    const tool = structuredClone(refund)
    const schema = () => JSON.parse(createCaptureWriter()(observation({ tools: [tool] }))).request.tools[0].schema
    const before = schema()
    tool.function.parameters.properties.note.type = 'number'
    expect([before, schema()]).toEqual([refund.function.parameters, tool.function.parameters])
  })
})

test('a text that the service cannot keep is written so that it can', () => {
  const messages = [{ role: 'user', content: 'cut \ud83d, ended \0, and \\u0000 \\ud83d as they stand' }]
  const written = createCaptureWriter()(observation({ ...CHAT, messages }, 'full'))
  const content = 'cut \ufffd, ended \ufffd, and \\u0000 \\ud83d as they stand'
  expect(JSON.parse(written).request.messages).toEqual([{ role: 'user', content }])
})
