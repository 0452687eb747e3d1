import { randomUUID } from 'node:crypto'
import { createGovernedServer, type GovernedServerOptions, type ServerLink } from './governed-server.js'
import {
  errorFor,
  INTERNAL_ERROR,
  INVALID_REQUEST,
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
import { createToolCalls, type ToolCallsOptions } from './tool-calls.js'

export interface RelayOptions extends Omit<GovernedServerOptions, 'calls'>, ToolCallsOptions {
  /** One message each, without a line break at its end. */
  toHost(text: string): void
  toServer(text: string): void
  /** For the operator alone. */
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
  const running = new Set<Promise<void>>()

  const tellHost = (message: Message): void => toHost(writeMessage(message))
  const answerHost = (id: MessageId | null, code: number, problem: string): void =>
    tellHost(errorFor(id, code, problem))
  const server = createGovernedServer({ ...options, calls: createToolCalls(options) })
  server.onListChanged(() => tellHost(LIST_CHANGED))

  const callTool = async (request: RpcRequest): Promise<void> => {
    const link: ServerLink = {
      // The call keeps the host's id, by which its progress and its cancellation are known.
      send({ method, params }, signal) {
        const id = method === 'tools/call' ? request.id : `countersign_${randomUUID()}`
        return requests.ask({ kind: 'request', id, method, params }, signal)
      },
    }
    const { response, isCancelled } = await server.callTool(request, link)
    // A cancelled request gets no answer.
    if (!isCancelled) tellHost(response)
  }

  /** What becomes of the answer to a request that passed. */
  const answerTo = (request: RpcRequest): Waiting['answered'] => {
    if (request.method === 'tools/list') {
      return (response) => void server.listTools(request, response).then(tellHost)
    }
    if (request.method === 'initialize') return (response) => tellHost(server.initialized(response))
    return (_, text) => toHost(text)
  }

  /** Null where the request may go on. */
  const problemOf = ({ id, method }: RpcRequest): readonly [number, string] | null => {
    if (isDisguisedCall(method))
      return [INVALID_REQUEST, `there is no method ${JSON.stringify(method)}: use tools/call`]
    if (requests.has(id) || server.isRunning(id)) {
      return [INVALID_REQUEST, `the id ${JSON.stringify(id)} is that of a request without an answer`]
    }
    if (requests.count() + server.running() >= MOST_REQUESTS)
      return [INTERNAL_ERROR, 'too many requests wait for an answer']
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
    const isCall = method === 'tools/call' || isDisguisedCall(method)
    if (isCall) note('a call of a tool without an id was dropped: its result could not be returned')
    else if (method !== 'notifications/cancelled' || !server.cancel(params)) toServer(text)
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
      if (message.kind === 'notification' && message.method === LIST_CHANGED.method) server.listChanged()
      toHost(text)
    },
    serverEnded: requests.end,
    async whenIdle() {
      await Promise.allSettled([...running])
    },
  }
}

const LIST_CHANGED = { kind: 'notification', method: 'notifications/tools/list_changed', params: {} } as const
