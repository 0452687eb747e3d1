import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { apiOfPath, type ModelApi, type Reply, renderEvents, renderResponse } from './provider-wire.js'

export type { Reply } from './provider-wire.js'

/** A model provider on loopback. It speaks OpenAI chat and Responses and Anthropic messages, whole and streamed. */
export interface LoopbackProvider {
  /** `baseURL` for an Anthropic client; an OpenAI client takes `${url}/v1`. */
  url: string
  requests: RecordedRequest[]
  /** Answers the next requests, in order. */
  enqueue(...answers: Answer[]): void
  /** Takes the next answer away, which nobody came for. */
  take(): void
  /** Answers whatever is asked while the queue is empty. */
  answerWith(answer: (request: RecordedRequest) => Answer | Promise<Answer>): void
  close(): Promise<void>
}

export interface RecordedRequest {
  method: string
  path: string
  headers: IncomingMessage['headers']
  /** The parsed body; null when there was none. */
  body: { [key: string]: unknown } | null
  /** True once the client hung up before the answer was over. */
  aborted: boolean
}

/**
 * A `Reply` is rendered in the API that is asked, whole or streamed as asked. `response` and `events` are sent as
 * they are; what is a string of them is sent as it stands. `events` can be slow, cut short, or end in a broken line.
 */
export type Answer =
  | (Reply & Timing)
  | ({ response: unknown } & Timing)
  | ({ events: readonly unknown[]; eventDelayMs?: number; hangUpAfter?: number } & Timing)
  | ({ status: number; error: unknown } & Timing)

interface Timing {
  delayMs?: number
  /** The answer does not come before this has happened. */
  after?: Promise<unknown>
  headers?: Record<string, string>
}

export async function startProvider(): Promise<LoopbackProvider> {
  const requests: RecordedRequest[] = []
  const queue: Answer[] = []
  let fallback: ((request: RecordedRequest) => Answer | Promise<Answer>) | null = null

  // Longer than a busy machine pauses: a client must not meet a connection that is being closed.
  const server = createServer({ keepAliveTimeout: 65_000 }, (incoming, outgoing) => {
    serve(incoming, outgoing).catch((error) => outgoing.destroy(error instanceof Error ? error : undefined))
  })

  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const request = await recorded(incoming)
    requests.push(request)
    outgoing.on('close', () => {
      request.aborted = !outgoing.writableFinished
    })
    const answer = queue.shift() ??
      (await fallback?.(request)) ?? { status: 500, error: { message: 'nothing to answer' } }
    if (answer.delayMs !== undefined) await wait(answer.delayMs)
    await answer.after
    await send(outgoing, request, answer)
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    enqueue: (...answers) => {
      queue.push(...answers)
    },
    take: () => {
      queue.shift()
    },
    answerWith: (answer) => {
      fallback = answer
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function recorded(incoming: IncomingMessage): Promise<RecordedRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString('utf8')
  const isJson = (incoming.headers['content-type'] ?? '').includes('json')
  return {
    method: incoming.method ?? '',
    path: new URL(incoming.url ?? '/', 'http://loopback').pathname,
    headers: incoming.headers,
    body: isJson && text !== '' ? JSON.parse(text) : null,
    aborted: false,
  }
}

async function send(outgoing: ServerResponse, request: RecordedRequest, answer: Answer): Promise<void> {
  const headers = { 'x-request-id': 'req_loopback', 'request-id': 'req_loopback', ...answer.headers }
  if ('error' in answer) return sendJson(outgoing, answer.status, headers, { error: answer.error })
  if ('response' in answer) return sendJson(outgoing, 200, headers, answer.response)
  const api = apiOfPath(request.path)
  if ('events' in answer) return sendEvents(outgoing, headers, api, answer)
  if (api === null) return sendJson(outgoing, 404, headers, { error: { message: `no model at ${request.path}` } })
  const reply = { model: String(request.body?.model ?? ''), ...answer }
  if (request.body?.stream !== true) return sendJson(outgoing, 200, headers, renderResponse(api, reply))
  const options = request.body.stream_options as { include_usage?: boolean } | undefined
  const events = renderEvents(api, reply, { includeUsage: options?.include_usage === true })
  return sendEvents(outgoing, headers, api, { events })
}

function sendJson(outgoing: ServerResponse, status: number, headers: Record<string, string>, body: unknown): void {
  outgoing.writeHead(status, { ...headers, 'content-type': 'application/json' })
  outgoing.end(typeof body === 'string' ? body : JSON.stringify(body))
}

async function sendEvents(
  outgoing: ServerResponse,
  headers: Record<string, string>,
  api: ModelApi | null,
  { events, eventDelayMs, hangUpAfter }: { events: readonly unknown[]; eventDelayMs?: number; hangUpAfter?: number },
): Promise<void> {
  outgoing.writeHead(200, { ...headers, 'content-type': 'text/event-stream' })
  for (const [index, event] of events.entries()) {
    if (index === hangUpAfter) return void outgoing.destroy()
    if (eventDelayMs !== undefined) await wait(eventDelayMs)
    if (outgoing.destroyed) return
    outgoing.write(encoded(event))
  }
  if (api === 'openai-chat' && events.at(-1) !== '[DONE]') outgoing.write('data: [DONE]\n\n')
  outgoing.end()
}

function encoded(event: unknown): string {
  if (typeof event === 'string') return `data: ${event}\n\n`
  const { type } = event as { type?: string }
  return `${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(event)}\n\n`
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
