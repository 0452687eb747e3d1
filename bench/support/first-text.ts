import type { Contract } from '@countersign/protocol'
import { replay } from '@countersign/sdk'
import OpenAI from 'openai'

const ROUNDS = 12
const WARM_UP = 3
const EVENTS = 30
const EVENT_DELAY_MS = 10

/** What the provider answers to a request for a stream: text that takes a third of a second. */
export const SLOW_TEXT = {
  eventDelayMs: EVENT_DELAY_MS,
  events: [...Array.from({ length: EVENTS }, (_, at) => chunk({ content: `word${at} ` }, null)), chunk({}, 'stop')],
}

function chunk(delta: object, finish_reason: string | null) {
  const choices = [{ index: 0, delta, finish_reason }]
  return { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1, model: 'gpt-bench', choices }
}

/**
 * When does a program see the first text of a stream? Through the bare client, and governed with `maxRetries: 1`, with
 * which the model may be asked again after a block: the text before the first call must flow all the same.
 */
export async function measureFirstText(url: string, request: { model: string }, contracts: readonly Contract[]) {
  const make = () => new OpenAI({ apiKey: 'unused', baseURL: `${url}/v1`, maxRetries: 0 })
  const session = replay(make(), { contracts, apiKey: '', maxRetries: 1, diagnostics: () => {} })
  const clients = { bare: make(), retries: session.client }
  const times: Record<keyof typeof clients, { first: number[]; whole: number[] }> = {
    bare: { first: [], whole: [] },
    retries: { first: [], whole: [] },
  }
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    for (const name of ['bare', 'retries'] as const) {
      const { first, whole } = await read(clients[name], request)
      if (round < WARM_UP) continue
      times[name].first.push(first)
      times[name].whole.push(whole)
    }
  }
  await session.restore()
  return {
    first_text_bare_ms: median(times.bare.first),
    first_text_retries_ms: median(times.retries.first),
    whole_text_bare_ms: median(times.bare.whole),
    whole_text_retries_ms: median(times.retries.whole),
  }
}

async function read(client: OpenAI, request: { model: string }): Promise<{ first: number; whole: number }> {
  const started = performance.now()
  const stream = await client.chat.completions.create({
    ...(request as OpenAI.ChatCompletionCreateParamsNonStreaming),
    stream: true,
  })
  let first = Number.NaN
  for await (const { choices } of stream) {
    if (Number.isNaN(first) && choices[0]?.delta.content) first = performance.now() - started
  }
  return { first, whole: performance.now() - started }
}

const median = (values: readonly number[]): number =>
  Math.round((values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN) * 10) / 10
