import { randomUUID } from 'node:crypto'
import {
  createServerGovernor,
  type ServerGovernorOptions,
  type ServerLink,
  type ServerSession,
} from './govern-server.js'
import {
  errorFor,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  idKey,
  type Message,
  type MessageId,
  type RpcNotification,
  type RpcRequest,
  readHostMessage,
  readServerMessage,
  writeMessage,
} from './message.js'
import { createOpenRequests, type Waiting } from './open-requests.js'
import { isDisguisedCall } from './read-tool-call.js'
import { type CallingSession, createToolCalls } from './tool-calls.js'

export interface RelayOptions extends Omit<ServerGovernorOptions, 'onListChanged' | 'calls'> {
  readonly session: () => ServerSession & CallingSession
  /** Only calls that a model proposed in the session are run. */
  readonly requiresProposal?: boolean
  /** One message each, without a line break at its end. */
  toHost(text: string): void
  toServer(text: string): void
  /** What nobody but the operator should know of. */
  note(sentence: string): void
}

/** One connection between a host and a server, with a session in between. */
export interface Relay {
  fromHost(text: string): void
  fromServer(text: string): void
  /** The server is gone: whatever waits for it is answered. */
  serverEnded(why: string): void
  /** Resolves when every call that was running has its outcome. */
  whenIdle(): Promise<void>
}

/** Requests that a host may leave unanswered at a time. */
const MOST_REQUESTS = 4_096

/**
 * Everything passes as it came, but for calls of tools, which are judged and run by the gateway, and lists of tools, which
 * are narrowed.
 */
export function createRelay(options: RelayOptions): Relay {
  const { toHost, toServer, note } = options
  const requests = createOpenRequests(toServer)
  /** The host's calls of tools: how to cancel each. */
  const calls = new Map<string, AbortController>()
  const running = new Set<Promise<void>>()

  const tellHost = (message: Message): void => toHost(writeMessage(message))
  const answerHost = (id: MessageId | null, code: number, problem: string): void =>
    tellHost(errorFor(id, code, problem))
  const governor = createServerGovernor({
    ...options,
    calls: createToolCalls(options),
    onListChanged: () => tellHost(LIST_CHANGED),
  })

  const callTool = async (request: RpcRequest): Promise<void> => {
    const controller = new AbortController()
    calls.set(idKey(request.id), controller)
    const link: ServerLink = {
      // The call keeps the host's id, by which its progress and its cancellation are known.
      send({ method, params }, signal) {
        const id = method === 'tools/call' ? request.id : `countersign_${randomUUID()}`
        return requests.ask({ kind: 'request', id, method, params }, signal)
      },
    }
    const response = await governor.callTool(request, link, controller.signal)
    calls.delete(idKey(request.id))
    // Whoever cancelled a request waits for no answer.
    if (!controller.signal.aborted) tellHost(response)
  }

  /** What becomes of the answer to a request that passed. */
  const answerTo = (request: RpcRequest): Waiting['answered'] => {
    if (request.method === 'tools/list') {
      return (response) => void governor.listTools(request, response).then(tellHost)
    }
    if (request.method === 'initialize') return (response) => tellHost(governor.initialized(response))
    return (_, text) => toHost(text)
  }

  /** Null where the request may go on. */
  const problemOf = ({ id, method }: RpcRequest): readonly [number, string] | null => {
    if (isDisguisedCall(method))
      return [INVALID_REQUEST, `there is no method ${JSON.stringify(method)}: use tools/call`]
    if (requests.has(id) || calls.has(idKey(id))) {
      return [INVALID_REQUEST, `the id ${JSON.stringify(id)} is that of a request without an answer`]
    }
    if (requests.count() + calls.size >= MOST_REQUESTS) return [INTERNAL_ERROR, 'too many requests wait for an answer']
    const ended = requests.ended()
    return ended === null ? null : [INTERNAL_ERROR, ended]
  }

  const fromHostRequest = (request: RpcRequest, text: string): void => {
    const problem = problemOf(request)
    if (problem !== null) answerHost(request.id, ...problem)
    else if (request.method === 'tools/call') {
      const work = callTool(request)
      running.add(work)
      void work.finally(() => running.delete(work))
    } else {
      const lost = (why: string): void => answerHost(request.id, INTERNAL_ERROR, why)
      requests.add(request.id, { answered: answerTo(request), lost })
      toServer(text)
    }
  }

  const fromHostNotification = ({ method, params }: RpcNotification, text: string): void => {
    const { requestId } = params
    const isCall = method === 'tools/call' || isDisguisedCall(method)
    const isCancel = method === 'notifications/cancelled'
    const call =
      isCancel && (typeof requestId === 'string' || typeof requestId === 'number') ? calls.get(idKey(requestId)) : null
    if (isCall) note('a call of a tool without an id was dropped: nobody waits for its result')
    else if (call != null) call.abort(new DOMException('the host cancelled the call', 'AbortError'))
    else toServer(text)
  }

  return {
    fromHost(text) {
      const read = readHostMessage(text)
      if (!read.ok) answerHost(read.id, read.code, read.problem)
      else if (read.message.kind === 'request') fromHostRequest(read.message, text)
      else if (requests.ended() !== null) note('the server has ended: a message of the host was dropped')
      else if (read.message.kind === 'notification') fromHostNotification(read.message, text)
      else toServer(text)
    },
    fromServer(given) {
      const read = readServerMessage(given)
      if (!read.ok) return note(`the server wrote something that is not a message: ${read.problem}`)
      const { message, text } = read
      if (message.kind === 'response' && message.id !== null) {
        if (!requests.answer(message, text)) note('the server answered a request that does not wait: dropped')
        return
      }
      if (message.kind === 'notification' && message.method === LIST_CHANGED.method) governor.listChanged()
      toHost(text)
    },
    serverEnded: requests.end,
    async whenIdle() {
      await Promise.allSettled([...running])
    },
  }
}

const LIST_CHANGED = { kind: 'notification', method: 'notifications/tools/list_changed', params: {} } as const
