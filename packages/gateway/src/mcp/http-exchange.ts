import { GatewayProblem } from '../base/problems.js'
import { readJsonText } from '../http/read-json-text.js'
import type { GatewayRequest } from '../http/route.js'
import { messageEvent, readEvents, type StreamEvent } from './event-stream.js'
import type { GovernedServer, ServerLink } from './governed-server.js'
import { type HttpUpstream, LOST_ANSWER, type UpstreamAnswer } from './http-upstream.js'
import {
  errorFor,
  INVALID_REQUEST,
  PARSE_ERROR,
  type RpcRequest,
  type RpcResponse,
  readHostMessage,
  readServerMessage,
  writeMessage,
} from './message.js'
import { answers, type Expected, passedAnswer, passedEvent } from './passed-answer.js'
import { isDisguisedCall } from './read-tool-call.js'
import { isModernRequest } from './tool-result.js'

const HEADER_MISMATCH = -32020

/** Answers one message that a host has posted. */
export async function answerMessage(
  request: GatewayRequest,
  upstream: HttpUpstream,
  governed: GovernedServer,
): Promise<Response> {
  const text = await readMessage(request)
  if (text instanceof GatewayProblem) return refuse(errorFor(null, PARSE_ERROR, text.message))
  const read = readHostMessage(text)
  if (!read.ok) return refuse(errorFor(read.id, read.code, read.problem))
  const { message } = read
  const { headers, signal } = request
  const id = message.kind === 'request' ? message.id : null
  const pass = async (change: Expected['change'] = null): Promise<Response> => {
    const answer = await upstream.send({ method: 'POST', headers, body: text, signal })
    return passedAnswer(answer, { id, server: governed, change })
  }
  if (message.kind === 'response') return pass()
  const problem = headerProblem(message.method, headers)
  if (problem !== null) return refuse(errorFor(id, HEADER_MISMATCH, problem))
  if (isDisguisedCall(message.method)) return refuse(errorFor(id, INVALID_REQUEST, 'calls of tools are tools/call'))
  if (message.kind === 'notification') {
    if (message.method === 'tools/call') return refuse(errorFor(null, INVALID_REQUEST, 'a call of a tool needs an id'))
    if (message.method === 'notifications/cancelled') governed.cancel(message.params)
    return pass()
  }
  if (message.method === 'tools/call') return callTool(message, { request, upstream, governed })
  if (message.method === 'tools/list') return pass((response) => governed.listTools(message, response))
  if (message.method === 'initialize') return pass(async (response) => governed.initialized(response))
  return pass()
}

/** The text of a message, or what it has too much of: hosts read that as an error of JSON-RPC. */
async function readMessage(request: GatewayRequest): Promise<string | GatewayProblem> {
  try {
    return await readJsonText(request)
  } catch (error) {
    if (error instanceof GatewayProblem && (error.code === 'body_depth' || error.code === 'body_values')) return error
    throw error
  }
}

interface Exchange {
  readonly request: GatewayRequest
  readonly upstream: HttpUpstream
  readonly governed: GovernedServer
}

/** The server refuses the request as such: its session is unknown, or the gateway's credential is wrong. */
class UpstreamRefusal extends Error {
  readonly answer: Response

  constructor(answer: Response) {
    super(`the MCP server answered with status ${answer.status}`, answer.status >= 500 ? LOST_ANSWER : undefined)
    this.answer = answer
  }
}

/** The answer begins with the first thing that the server says, so that its progress reaches the host while the tool runs. */
async function callTool(message: RpcRequest, { request, upstream, governed }: Exchange): Promise<Response> {
  const { headers, signal } = request
  const isModern = isModernRequest(message.params)
  if (!isModern && governed.isRunning(message.id)) {
    return refuse(errorFor(message.id, INVALID_REQUEST, 'the id is that of a call without an answer'))
  }
  const said = createSaid()
  let refusal: Response | null = null
  const link: ServerLink = {
    async send({ method, params }, runSignal) {
      const sent = { kind: 'request', id: message.id, method, params } as const
      const answer = await upstream.send({
        method: 'POST',
        headers: headersOf(headers, method, params.name),
        body: writeMessage(sent),
        signal: runSignal,
      })
      try {
        return await responseIn(answer, sent.id, async (event) => {
          const passed = await passedEvent(event, { id: null, server: governed, change: null })
          if (method === 'tools/call' && passed !== null) await said.say(passed, runSignal)
        })
      } catch (error) {
        if (error instanceof UpstreamRefusal) refusal = error.answer
        throw error
      }
    },
  }
  // Since 2026-07-28 leaving is cancelling; before, a host may lose its connection and say nothing of the call.
  const host = { signal: isModern ? signal : undefined, ownsId: headers.get('mcp-session-id') !== null }
  const ended = governed.callTool(message, link, host).then(({ response }) => {
    said.end(writeMessage(response))
    return response
  })
  const first = await Promise.race([ended, said.begun])
  if (first === 'begun') return new Response(said.body, { headers: STREAM })
  return refusal ?? new Response(writeMessage(first), { headers: JSON_TYPE })
}

const STREAM = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }
const JSON_TYPE = { 'content-type': 'application/json' }

/** What a host has not read yet of what the server says. */
const MOST_UNREAD = 1024 * 1024

/** What the server says before its answer, as a stream that is there once it has said something. */
function createSaid() {
  const encoder = new TextEncoder()
  let controller: ReadableStreamDefaultController<Uint8Array> | null = null
  let begin = (_: 'begun'): void => {}
  const begun = new Promise<'begun'>((resolve) => {
    begin = resolve
  })
  let isLeft = false
  let goOn = (): void => {}
  const body = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given
      },
      pull: () => goOn(),
      cancel() {
        isLeft = true
        goOn()
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: MOST_UNREAD }),
  )
  return {
    body,
    begun,
    /** Resolves when the host has read enough for more, has left, or the signal is aborted. */
    async say(raw: string, signal: AbortSignal): Promise<void> {
      begin('begun')
      if (isLeft || controller === null) return
      controller.enqueue(encoder.encode(raw))
      if ((controller.desiredSize ?? 1) > 0 || signal.aborted) return
      await new Promise<void>((resolve) => {
        goOn = resolve
        signal.addEventListener('abort', () => resolve(), { once: true })
      })
    },
    end(text: string): void {
      if (isLeft) return
      controller?.enqueue(encoder.encode(messageEvent(text)))
      controller?.close()
    },
  }
}

/** The server's answer to a request; what it says before goes to `say`. */
async function responseIn(
  answer: UpstreamAnswer,
  id: RpcRequest['id'],
  say: (event: StreamEvent) => Promise<void>,
): Promise<RpcResponse> {
  if (!answer.isStream) {
    const text = await answer.text()
    const read = readServerMessage(text)
    if (read.ok && read.message.kind === 'response' && answers(read.message, id)) return read.message
    const { status, headers } = answer
    if (status >= 400) throw new UpstreamRefusal(new Response(text, { status, headers }))
    throw new GatewayProblem('upstream_invalid', 'the MCP server did not answer with a message', LOST_ANSWER)
  }
  for await (const event of readEvents(answer.body)) {
    const read = event.data === null ? null : readServerMessage(event.data)
    if (read?.ok && read.message.kind === 'response' && answers(read.message, id)) return read.message
    await say(event)
  }
  throw Object.assign(new Error('the MCP server ended its stream without an answer'), { code: 'ECONNRESET' })
}

/** The server routes by headers, too: they say what the body says. */
function headersOf(given: Headers, method: string, name: unknown): Headers {
  const headers = new Headers(given)
  if (headers.has('mcp-method')) headers.set('mcp-method', method)
  if (method !== 'tools/call') {
    for (const key of [...headers.keys()]) if (/^mcp-(?:name|param-.+)$/.test(key)) headers.delete(key)
  } else if (headers.has('mcp-name') && typeof name === 'string' && /^[\x21-\x7e]+$/.test(name)) {
    headers.set('mcp-name', name)
  }
  return headers
}

function headerProblem(method: string, headers: Headers): string | null {
  const said = headers.get('mcp-method')
  return said === null || said === method ? null : 'the header Mcp-Method says another method than the body'
}

const refuse = (response: RpcResponse): Response =>
  new Response(writeMessage(response), { status: 400, headers: JSON_TYPE })
