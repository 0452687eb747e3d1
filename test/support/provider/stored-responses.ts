import type { Answer, LoopbackProvider, RecordedRequest } from './provider.js'
import { type Reply, renderEvents } from './provider-wire.js'

type Item = { [key: string]: unknown }

/** What a provider keeps of its responses and conversations. */
export interface StoredResponses {
  /** Answers the next requests, in order. An item stands for an output that no `Reply` can say. */
  enqueue(...replies: (Reply | { output: Item[] })[]): void
  /** Everything that led to a response, and its own output. */
  thread(responseId: string): Item[]
  conversation(id: string): Item[]
}

/**
 * Makes a loopback provider keep what was said, as OpenAI does: a request may go on from a response or a conversation,
 * and is refused when a call in there has no output, when an output answers no call, or when nothing is known of it.
 */
export function storeResponses(provider: LoopbackProvider): StoredResponses {
  const responses = new Map<string, Item[]>()
  const conversations = new Map<string, Item[]>()
  const queue: (Reply | { output: Item[] })[] = []

  const answer = (request: RecordedRequest): Answer => {
    const { previous_response_id: previous, conversation, stream } = request.body ?? {}
    if (typeof previous === 'string' && !responses.has(previous)) return refused(`Response ${previous} not found.`)
    const earlier = typeof previous === 'string' ? responses.get(previous) : conversations.get(String(conversation))
    const items = [...(earlier ?? []), ...itemsOf(request.body?.input)]
    const problem = problemOf(items)
    if (problem !== null) return refused(problem)
    const reply = queue.shift() ?? { text: 'nothing to say' }
    const events = renderEvents('openai-responses', 'output' in reply ? {} : reply)
    const ended = events.at(-1) as { response: Item }
    const response = 'output' in reply ? { ...ended.response, output: reply.output } : ended.response
    const whole = [...items, ...(response.output as Item[])]
    responses.set(String(response.id), whole)
    if (typeof conversation === 'string') conversations.set(conversation, whole)
    return stream === true ? { events } : { response }
  }

  provider.answerWith(answer)
  return {
    enqueue: (...replies) => {
      queue.push(...replies)
    },
    thread: (id) => responses.get(id) ?? [],
    conversation: (id) => conversations.get(id) ?? [],
  }
}

const refused = (message: string): Answer => ({ status: 400, error: { message, type: 'invalid_request_error' } })

function itemsOf(input: unknown): Item[] {
  return typeof input === 'string' ? [{ role: 'user', content: input }] : ((input ?? []) as Item[])
}

function problemOf(items: readonly Item[]): string | null {
  const calls = items.filter(({ type }) => String(type).endsWith('_call')).map(({ call_id }) => call_id)
  const outputs = items.filter(({ type }) => String(type).endsWith('_call_output')).map(({ call_id }) => call_id)
  const silent = calls.find((id) => !outputs.includes(id))
  if (silent !== undefined) return `No tool output found for function call ${silent}.`
  const stray = outputs.find((id, at) => !calls.includes(id) || outputs.indexOf(id) !== at)
  return stray === undefined ? null : `No tool call found for function call output with call_id ${stray}.`
}
