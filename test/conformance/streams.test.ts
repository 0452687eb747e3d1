import Anthropic from '@anthropic-ai/sdk'
import { readResponse, withoutOddShapes } from '@countersign/engine'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { detectClient } from '../../packages/sdk/src/clients/clients.js'
import { type ClientGovernor, governClient } from '../../packages/sdk/src/clients/govern-client.js'
import { anthropic } from '../../packages/sdk/src/providers/anthropic/anthropic.js'
import { openaiChat } from '../../packages/sdk/src/providers/openai-chat/openai-chat.js'
import { openaiResponses } from '../../packages/sdk/src/providers/openai-responses/openai-responses.js'
import type { StreamHold } from '../../packages/sdk/src/providers/provider.js'
import type { Shown } from '../../packages/sdk/src/turn/apply-verdict.js'
import type { Came } from '../../packages/sdk/src/turn/read-answer.js'
import { runTurn } from '../../packages/sdk/src/turn/run-turn.js'
import { describeShared } from '../support/data/describe-shared.js'
import { readSharedLines } from '../support/data/shared-data.js'
import { fakeTurn } from '../support/provider/fake-turn.js'
import { type LoopbackProvider, startProvider } from '../support/provider/provider.js'
import type { ModelApi } from '../support/provider/provider-wire.js'

interface RecordedStream {
  id: string
  format: ModelApi
  events: unknown[]
}
interface RecordedResponse {
  id: string
  format: ModelApi
  response: { [key: string]: unknown }
}
type JsonObject = { [key: string]: unknown }

let provider: LoopbackProvider
beforeAll(async () => {
  provider = await startProvider()
})
afterAll(() => provider.close())

const PROVIDERS = { 'openai-chat': openaiChat, 'openai-responses': openaiResponses, 'anthropic-messages': anthropic }

/** The real clients; `judge` null leaves them bare. */
function clients(judge: ((came: Came) => Shown) | null, mayRetry = false) {
  const openai = new OpenAI({ apiKey: 'unused', baseURL: `${provider.url}/v1`, maxRetries: 0, logLevel: 'off' })
  const claude = new Anthropic({ apiKey: 'unused', baseURL: provider.url, maxRetries: 0, logLevel: 'off' })
  if (judge === null) return { openai, claude }
  const governor: ClientGovernor = {
    runTurn: (call) => runTurn(fakeTurn(call.provider, judge, mayRetry), call),
    assertUsable: () => {},
    binds: () => true,
    send: (call) => call(),
  }
  const governed = <Client extends object>(client: Client): Client => {
    const kind = detectClient(client)
    if (kind === null) throw new Error('the client was not recognised')
    return governClient(client, kind, governor)
  }
  return { openai: governed(openai), claude: governed(claude) }
}

const chat = { model: 'm', messages: [], stream_options: { include_usage: true } }
const message = { model: 'm', max_tokens: 1, messages: [] }

/** Asks for a stream and reads its events; what it throws is an outcome too. */
async function readEvents(format: ModelApi, made: ReturnType<typeof clients>): Promise<Outcome<JsonObject[]>> {
  return outcome(async () => {
    const stream: AsyncIterable<unknown> =
      format === 'openai-chat'
        ? await made.openai.chat.completions.create({ ...chat, stream: true })
        : format === 'openai-responses'
          ? await made.openai.responses.create({ model: 'm', input: '', stream: true })
          : await made.claude.messages.create({ ...message, stream: true })
    const events: JsonObject[] = []
    for await (const event of stream) events.push(structuredClone(event) as JsonObject)
    return events
  })
}

/** Lets the client's own helper put the stream together. */
async function readFinal(format: ModelApi, made: ReturnType<typeof clients>): Promise<Outcome<unknown>> {
  return outcome(async () => {
    if (format === 'openai-chat') return made.openai.chat.completions.stream(chat).finalChatCompletion()
    if (format === 'openai-responses') return made.openai.responses.stream({ model: 'm', input: '' }).finalResponse()
    return made.claude.messages.stream(message).finalMessage()
  })
}

type Outcome<Value> = { value: Value } | { error: string }

async function outcome<Value>(work: () => Promise<Value>): Promise<Outcome<Value>> {
  try {
    return { value: await work() }
  } catch (error) {
    return { error: String(error) }
  }
}

const release = (): Shown => ({ action: 'release' })
const keepNone = (): Shown => ({ action: 'keep', callIds: new Set() })
/** Keeps every second call, so that what stays must be renumbered. */
const keepSome = ({ response }: Came): Shown => ({
  action: 'keep',
  callIds: new Set(readResponse(response).calls.flatMap(({ id, index }) => (index % 2 === 1 ? [id] : []))),
})

/** What the gate reads out of the events, whatever becomes of them. */
function assembled(stream: { format: ModelApi; events: unknown[] }): JsonObject {
  return holdOver(stream).response()
}

function holdOver({ format, events }: { format: ModelApi; events: unknown[] }): StreamHold {
  const hold = PROVIDERS[format].readStream({})
  for (const event of events) if (typeof event === 'object' && event !== null) hold.take(event as JsonObject)
  return hold
}

describeShared('recorded streams', 'conformance/streams', () => {
  const streams = readSharedLines<RecordedStream>('conformance/streams/streams.jsonl.gz')
  const named = streams.map((stream): [string, RecordedStream] => [stream.id.split('/').slice(-1)[0] ?? '', stream])

  test('there are 113, and what the provider ran itself is told from calls', () => {
    expect(streams).toHaveLength(113)
    const read = streams.map((stream) => readResponse(assembled(stream)))
    expect(read.filter(({ calls }) => calls.length > 0).length).toBeGreaterThan(30)
    expect(read.filter(({ providerRun }) => providerRun.length > 0).length).toBeGreaterThanOrEqual(18)
  })

  describe.each(named)('%s', (_name, recorded) => {
    const { format, events } = recorded
    const serve = (times: number) => provider.enqueue(...Array.from({ length: times }, () => ({ events })))

    test.each([false, true])('with everything allowed the program receives the same (retries: %s)', async (retries) => {
      serve(4)
      const bare = await readEvents(format, clients(null))
      expect(await readEvents(format, clients(release, retries))).toEqual(bare)
      const final = await readFinal(format, clients(null))
      expect(await readFinal(format, clients(release, retries))).toEqual(final)
    })

    test('what a provider really says contradicts itself nowhere', () => {
      expect(holdOver(recorded).contradiction()).toBeNull()
      for (const event of events.filter((one) => typeof one === 'object'))
        expect(withoutOddShapes(event, PROVIDERS[format].format, 'event')).toEqual({ value: event, problem: null })
    })

    test('blocked calls are in no event, and the client still reads the stream', async () => {
      const calls = readResponse(assembled(recorded)).calls
      serve(3)
      const bareFinal = await readFinal(format, clients(null))
      const seen = await readEvents(format, clients(keepNone))
      const final = await readFinal(format, clients(keepNone))
      if ('value' in seen) {
        const written = JSON.stringify(seen.value)
        for (const { id } of calls) expect(written).not.toContain(JSON.stringify(id))
        expect(readResponse(assembled({ format, events: seen.value })).calls).toEqual([])
        expectNoNewGaps(seen.value, events)
      }
      if ('value' in bareFinal) expect(final).toMatchObject({ value: expect.anything() })
      if ('value' in final) expect(readResponse(final.value).calls).toEqual([])
    })

    test('a call that stays among blocked ones stays whole', async () => {
      const calls = readResponse(assembled(recorded)).calls.filter(({ problem }) => problem === null)
      const kept = calls.filter(({ index }) => index % 2 === 1)
      serve(1)
      const seen = await readEvents(format, clients(keepSome))
      if (!('value' in seen)) return
      const left = readResponse(assembled({ format, events: seen.value })).calls
      const view = (list: typeof calls) => list.map(({ id, name, argumentsText }) => ({ id, name, argumentsText }))
      expect(view(left)).toEqual(view(kept))
      expectNoNewGaps(seen.value, events)
    })
  })
})

/** One recording has a gap of its own. */
function expectNoNewGaps(seen: readonly JsonObject[], recorded: readonly unknown[]): void {
  const known = numberingOf(recorded.filter((event): event is JsonObject => typeof event === 'object'))
  expect(known).toEqual(expect.arrayContaining(numberingOf(seen)))
}

/** Gaps in what a stream numbers. A recorded stream may hold several responses, each numbered from 0. */
function numberingOf(events: readonly JsonObject[]): string[] {
  const problems: string[] = []
  let next = 0
  for (const event of events) {
    const started =
      event.type === 'content_block_start'
        ? event.index
        : event.type === 'response.output_item.added'
          ? event.output_index
          : undefined
    if (typeof started !== 'number') continue
    if (started === 0) next = 0
    if (started !== next) problems.push(`${event.type} is numbered ${started} instead of ${next}`)
    next = started + 1
  }
  return problems
}

describeShared('recorded whole responses', 'conformance/streams', () => {
  const responses = readSharedLines<RecordedResponse>('conformance/streams/responses.jsonl.gz')
  const named = responses.map((one): [string, RecordedResponse] => [one.id.split('/').slice(-1)[0] ?? '', one])

  async function ask(format: ModelApi, made: ReturnType<typeof clients>): Promise<unknown> {
    if (format === 'openai-chat') return made.openai.chat.completions.create({ model: 'm', messages: [] })
    if (format === 'openai-responses') return made.openai.responses.create({ model: 'm', input: '' })
    return made.claude.messages.create(message)
  }

  test('there are 88', () => {
    expect(responses).toHaveLength(88)
  })

  test.each(named)('%s', async (_name, { format, response }) => {
    const calls = readResponse(response).calls
    provider.enqueue({ response }, { response }, { response }, { response })
    const bare = await ask(format, clients(null))
    expect(await ask(format, clients(release))).toEqual(bare)
    const stripped = readResponse(await ask(format, clients(keepNone)))
    expect(stripped.calls).toEqual([])
    expect(stripped.providerRun).toEqual(readResponse(response).providerRun)
    expect(stripped.content).toBe(readResponse(response).content)
    if (calls.length > 0) expect(stripped.finishReason).not.toBe('tool_calls')
    const answered = await ask(
      format,
      clients(() => ({ action: 'answer', text: 'This is not allowed.' })),
    )
    expect(readResponse(answered)).toMatchObject({
      calls: [],
      content: expect.stringContaining('This is not allowed.'),
    })
  })
})
