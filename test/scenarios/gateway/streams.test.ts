import { readResponse } from '@countersign/engine'
import type { Contract } from '@countersign/protocol'
import { expect } from 'vitest'
import { openSession, type ReplayOptions } from '../../../packages/sdk/src/index.js'
import { anthropic } from '../../../packages/sdk/src/providers/anthropic/anthropic.js'
import { openaiChat } from '../../../packages/sdk/src/providers/openai-chat/openai-chat.js'
import { openaiResponses } from '../../../packages/sdk/src/providers/openai-responses/openai-responses.js'
import { readSharedLines, SHARED_DATA_MISSING, sharedData } from '../../support/data/shared-data.js'
import { withGateways } from '../../support/gateway/gateway.js'
import { proves } from '../../support/proves.js'
import { CHAT, CHAT_LEGAL } from '../../support/provider/contradictions/chat-streams.js'
import { MESSAGES, MESSAGES_LEGAL } from '../../support/provider/contradictions/message-streams.js'
import { RESPONSES, RESPONSES_LEGAL } from '../../support/provider/contradictions/response-streams.js'
import type { ModelApi } from '../../support/provider/provider-wire.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime } = await withRuntime()
const gateways = await withGateways(runtime)
const { provider } = gateways

const PATHS: Record<ModelApi, string> = {
  'openai-chat': 'openai/v1/chat/completions',
  'openai-responses': 'openai/v1/responses',
  'anthropic-messages': 'anthropic/v1/messages',
}
const TOOLS: Record<ModelApi, (name: string) => object> = {
  'openai-chat': (name) => ({ type: 'function', function: { name, parameters: {} } }),
  'openai-responses': (name) => ({ type: /shell$/.test(name) ? name : 'function', name, parameters: {} }),
  'anthropic-messages': (name) => ({ name, input_schema: { type: 'object' } }),
}
const bodyOf = (format: ModelApi, names: readonly string[]) => ({
  model: 'm',
  stream: true,
  ...(format === 'openai-responses' ? { input: 'go' } : { messages: [{ role: 'user', content: 'go' }] }),
  ...(format === 'openai-chat' && { stream_options: { include_usage: true } }),
  ...(format === 'anthropic-messages' && { max_tokens: 10 }),
  tools: names.map(TOOLS[format]),
})
const NAMES = ['look', 'pay', 'note', 'local_shell', 'shell']

/** The bytes that a client gets for these events of the provider, or the error in their middle. */
async function bytesOf(
  send: typeof fetch,
  url: string,
  format: ModelApi,
  events: readonly unknown[],
  names: readonly string[] = NAMES,
): Promise<string> {
  provider.enqueue({ events })
  const response = await send(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(bodyOf(format, names)),
  })
  return response.text().catch(() => 'broken off')
}

proves('gateway.byte-equal', 'recorded streams come as they were sent, with the verdicts of the SDK', async () => {
  if (sharedData('conformance/streams') === null) return console.warn(SHARED_DATA_MISSING)
  const streams = readSharedLines<{ id: string; format: ModelApi; events: unknown[] }>(
    'conformance/streams/streams.jsonl.gz',
  )
  const free = await gateways.agentWith([{ tool: 'other', side_effect: 'read' }])
  const gateway = await gateways.start({ 'unmatched-policy': 'allow' })
  const isLong = process.env.COUNTERSIGN_TEST_ROUNDS === 'long'
  expect(streams).toHaveLength(113)
  for (const { id, format, events } of streams.filter((_, at) => isLong || at % 8 === 0)) {
    const names = calledNames(format, events)
    const direct = await bytesOf(fetch, PATHS[format].replace(/^\w+/, provider.url), format, events, names)
    const bySdk = await sdkBytesOf({ unmatchedPolicy: 'allow' }, format, events, names)
    const through = await bytesOf(fetch, `${gateway.url}/${free}/${PATHS[format]}`, format, events, names)
    expect([id, withoutIds(through)]).toEqual([id, withoutIds(bySdk)])
    if (bySdk.includes('was blocked')) continue
    expect([id, through]).toEqual([id, isBroken(events) ? 'broken off' : direct])
  }
})

/** One of the recordings has an event that is no JSON: it breaks every client, and nothing of it is judged. */
const isBroken = (events: readonly unknown[]): boolean =>
  events.some((event) => typeof event === 'string' && event !== '[DONE]')

const PROVIDERS = { 'openai-chat': openaiChat, 'openai-responses': openaiResponses, 'anthropic-messages': anthropic }

function calledNames(format: ModelApi, events: readonly unknown[]): string[] {
  const hold = PROVIDERS[format].readStream({})
  for (const event of events) if (typeof event === 'object' && event !== null) hold.take({ ...event })
  return [...new Set(['look', ...readResponse(hold.response()).calls.map(({ name }) => name)])].filter(
    (name) => name !== '',
  )
}

/** The same through a session of the SDK, which judges in this process. */
async function sdkBytesOf(
  options: ReplayOptions,
  format: ModelApi,
  events: readonly unknown[],
  names: readonly string[],
) {
  const session = openSession({
    contracts: [{ tool: 'other', side_effect: 'read' }],
    diagnostics: () => {},
    ...options,
  })
  const bytes = await bytesOf(session.fetch, PATHS[format].replace(/^\w+/, provider.url), format, events, names)
  await session.close()
  return bytes
}

// Texts that are made for a block have an id of their own.
const withoutIds = (text: string) => text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}/g, 'ID')

const contracts: readonly Contract[] = [
  { tool: 'look', side_effect: 'read' },
  { tool: 'pay', side_effect: 'write', argument_value_invariants: [{ path: '$.amount', lte: 500 }] },
  { tool: 'note', side_effect: 'read' },
  { tool: 'local_shell', side_effect: 'read' },
  { tool: 'shell', side_effect: 'read' },
]

proves('gateway.faults', 'a stream that says two things releases neither, and a legal one passes', async () => {
  const agent = await gateways.agentWith(contracts)
  const gateway = await gateways.start()
  const wires = [
    ['openai-chat', CHAT, CHAT_LEGAL],
    ['openai-responses', RESPONSES, RESPONSES_LEGAL],
    ['anthropic-messages', MESSAGES, MESSAGES_LEGAL],
  ] as const
  for (const [format, contradictions, legal] of wires) {
    const url = `${gateway.url}/${agent}/${PATHS[format]}`
    for (const [what, events] of contradictions) {
      const text = await bytesOf(fetch, url, format, events)
      const bySdk = await sdkBytesOf({ contracts: [...contracts] }, format, events, NAMES)
      expect([what, withoutIds(text)]).toEqual([what, withoutIds(bySdk)])
      expect(text).toContain('response_format_invalid')
    }
    for (const [what, events] of legal) {
      const direct = await bytesOf(fetch, PATHS[format].replace(/^\w+/, provider.url), format, events)
      expect([what, await bytesOf(fetch, url, format, events)]).toEqual([what, direct])
    }
  }
})
