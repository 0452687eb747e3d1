import type { JsonObject } from '@countersign/protocol'
import type { Session } from '@countersign/sdk'
import { isObject } from '../base/is-object.js'
import {
  errorFor,
  INVALID_PARAMS,
  idKey,
  type MessageId,
  type RpcRequest,
  type RpcResponse,
  resultFor,
} from './message.js'
import type { DefinitionPins } from './pins/definition-pins.js'
import { envelopeOf, readToolCall } from './read-tool-call.js'
import type { RequestStates } from './request-state.js'
import type { HostCall, Stop, ToolCalls } from './tool-calls.js'
import { createToolCatalog, toolsIn } from './tool-catalog.js'
import { canonicalName, meantTool } from './tool-names.js'
import { confirmationRequired, isModernRequest, opensUrls, refusedResult } from './tool-result.js'

export interface GovernedServerOptions {
  /** Opened when it is first needed: hosts start servers only to ask which version they speak. */
  readonly session: () => Session<unknown>
  /** As contracts name the server; null where they name its tools alone. */
  readonly server: string | null
  readonly calls: ToolCalls
  readonly pins: DefinitionPins
  /** Null where no host is asked to confirm a call. */
  readonly states?: RequestStates | null
  /** These tools of the server, as contracts name them, are run by the gateway alone. */
  readonly onTools?: (tools: readonly string[]) => void
}

/** The way to the server. */
export interface ServerLink {
  /** Sends a request and resolves to its answer. Rejects when there is none, and when the signal is aborted. */
  send(request: Pick<RpcRequest, 'method' | 'params'>, signal: AbortSignal): Promise<RpcResponse>
}

/** One server in one session: what its hosts ask of it, governed. Resolves to answers; never rejects. */
export interface GovernedServer {
  /** Judges a call, runs it over the link and leaves its receipt. A refusal is a result. */
  callTool(request: RpcRequest, link: ServerLink, host?: HostOfCall): Promise<CallAnswer>
  /** A call of this id runs. */
  isRunning(id: MessageId): boolean
  running(): number
  /** The host cancels a request. False where that is no call which runs. */
  cancel(params: JsonObject): boolean
  /** What the host may see of a list of tools. */
  listTools(request: RpcRequest, response: RpcResponse): Promise<RpcResponse>
  /** The server's answer to `initialize`: from now on its list changes with the session, too. */
  initialized(response: RpcResponse): RpcResponse
  /** The server says that its list has changed. */
  listChanged(): void
  /** Calls the listener when what hosts were shown of the tools no longer holds. Returns how to stop that. */
  onListChanged(listener: () => void): () => void
}

export interface HostOfCall {
  /** Aborted when the host left, where that cancels its call. */
  readonly signal?: AbortSignal | undefined
  /** False where other hosts of the session may use the same id: then it cancels nothing. */
  readonly ownsId?: boolean
}

export interface CallAnswer {
  readonly response: RpcResponse
  readonly isCancelled: boolean
}

/** A server that does not tell its tools in this time cannot be governed. */
const LIST_TIMEOUT_MS = 30_000
const MOST_PAGES = 100

export function createGovernedServer(options: GovernedServerOptions): GovernedServer {
  const { session, server, calls, pins } = options
  const catalog = createToolCatalog(pins)
  const canonical = (tool: string): string => canonicalName(server, tool)
  /** What 2025 hosts were shown, by the server's names; null before the first list. */
  let shown: ReadonlySet<string> | null = null
  let reading: Promise<void> | null = null
  /** The calls that run, by their ids: how to cancel each. */
  const running = new Map<string, AbortController>()
  const listeners = new Set<() => void>()

  /** The tools that a call could run at present. All where that is unknown: each call is judged by itself. */
  const allowedOf = async (tools: readonly string[], isModern: boolean): Promise<ReadonlySet<string>> => {
    try {
      const { allowed, removed } = await session().narrowed(tools.map(canonical))
      // Since 2026-07-28 a list must not depend on what happened: only what is closed for good is left out.
      const kept = isModern ? removed.filter(({ reason }) => !FOR_GOOD.has(reason)).map(({ tool }) => tool) : []
      const open = new Set([...allowed, ...kept])
      return new Set(tools.filter((tool) => open.has(canonical(tool))))
    } catch {
      return new Set(tools)
    }
  }

  const announceNarrowing = async (): Promise<void> => {
    if (shown === null) return
    const allowed = await allowedOf(catalog.names(), false)
    const before = shown
    if (allowed.size === before.size && [...allowed].every((tool) => before.has(tool))) return
    shown = allowed
    for (const tell of listeners) tell()
  }

  const take = async (tools: readonly JsonObject[]): Promise<void> => {
    await catalog.replace(tools)
    options.onTools?.(catalog.names().map(canonical))
  }

  const readCatalog = async (request: RpcRequest, link: ServerLink): Promise<void> => {
    if (!catalog.isStale()) return
    reading ??= readWholeList(link, request)
      .then(take)
      .finally(() => {
        reading = null
      })
    await reading
  }

  calls.onTurnEnd(() => void announceNarrowing())

  async function judgeAndRun(request: RpcRequest, link: ServerLink, signal: AbortSignal): Promise<RpcResponse> {
    const { id, params } = request
    const isModern = isModernRequest(params)
    const refuse = (text: string): RpcResponse => resultFor(id, refusedResult(text, isModern))
    const read = readToolCall(params)
    const state = options.states?.read(params.requestState) ?? null
    if (!read.ok) return errorFor(id, INVALID_PARAMS, `the call cannot be judged: ${read.problem}`)
    try {
      await readCatalog(request, link)
    } catch (error) {
      return refuse(`${read.name} did not run: the tools of the server cannot be read (${messageOf(error)})`)
    }
    let tool = meantTool(read.name, server, catalog.has)
    if (tool !== null && catalog.isChanged(tool)) {
      // It may have been approved since.
      catalog.markStale()
      await readCatalog(request, link).catch(() => {})
      tool = meantTool(read.name, server, catalog.has)
    }
    const name = canonical(tool ?? read.name)
    // Only where it is needed: asking for a session that has failed ends it under the calls that still have it.
    const meant = () => ({ session: session().sessionId, tool: name, arguments: read.arguments })
    if (state !== null && !(state.ok && state.isOf(meant()))) return errorFor(id, INVALID_PARAMS, OTHER_STATE)
    // What the gateway has asked the host is no matter of the server.
    const { requestState: _state, inputResponses: _responses, ...own } = params
    const sent = state === null ? params : own
    const call: HostCall = {
      name,
      stopped: tool !== null && catalog.isChanged(tool) ? DEFINITION_CHANGED : null,
      arguments: read.arguments,
      offered: [...new Set([...catalog.names(), ...(tool === null ? [] : [tool])])].map(canonical),
      signal,
      run: (judged, runSignal) =>
        link.send(
          { method: 'tools/call', params: { ...sent, name: tool ?? read.name, arguments: judged as JsonObject } },
          runSignal,
        ),
    }
    const end = await calls.call(call)
    if (end.ran) return { ...end.response, id }
    const { question } = end
    // A host that comes back before the answer would be asked again and again: it reads that the call waits.
    const mayAsk = state === null && question?.confirms === true && opensUrls(params)
    if (!mayAsk || question.url === null || !options.states) return refuse(end.text)
    const requestState = options.states.seal({ ...meant(), question: question.id }, Date.parse(question.expiresAt))
    const message = `${name} needs your approval, question ${question.id}.`
    return resultFor(id, confirmationRequired({ url: question.url, message, requestState }))
  }

  return {
    async callTool(request, link, { signal, ownsId = true } = {}) {
      const controller = new AbortController()
      signal?.addEventListener('abort', () => controller.abort(new DOMException('the host left', 'AbortError')))
      const key = idKey(request.id)
      if (ownsId) running.set(key, controller)
      const response = await judgeAndRun(request, link, controller.signal)
      if (running.get(key) === controller) running.delete(key)
      return { response, isCancelled: controller.signal.aborted }
    },
    isRunning: (id) => running.has(idKey(id)),
    running: () => running.size,
    cancel({ requestId }) {
      const isId = typeof requestId === 'string' || typeof requestId === 'number'
      const call = isId ? running.get(idKey(requestId)) : undefined
      call?.abort(new DOMException('the host cancelled the call', 'AbortError'))
      return call !== undefined
    },

    async listTools({ params }, response) {
      if (response.result === null) return response
      const isModern = isModernRequest(params)
      const tools = toolsIn(response.result)
      try {
        const isWhole = params.cursor === undefined && response.result.nextCursor === undefined
        if (isWhole) await take(tools)
        const unchanged = await catalog.unchanged(tools)
        const names = unchanged.map(({ name }) => String(name))
        const allowed = await allowedOf(names, isModern)
        if (!isModern) shown = isWhole ? allowed : new Set([...(shown ?? []), ...allowed])
        const result = {
          ...response.result,
          tools: unchanged.filter(({ name }) => allowed.has(String(name))),
          ...(isModern && { ttlMs: 0, cacheScope: 'private' }),
        }
        return { ...response, result }
      } catch {
        // Calls are refused for the same reason, and say it.
        return response
      }
    },

    initialized(response) {
      const { result } = response
      if (result === null || !isObject(result.capabilities) || !isObject(result.capabilities.tools)) return response
      const { capabilities } = result
      const tools = { ...(capabilities.tools as JsonObject), listChanged: true }
      return { ...response, result: { ...result, capabilities: { ...capabilities, tools } } }
    },

    listChanged: () => catalog.markStale(),
    onListChanged(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** Why a tool is removed whatever happens in the session. */
const FOR_GOOD: ReadonlySet<string> = new Set(['no_contract', 'policy_denied'])

/** Every page of the list, as the gateway's own request. */
async function readWholeList(link: ServerLink, { params }: RpcRequest): Promise<JsonObject[]> {
  const tools: JsonObject[] = []
  const signal = AbortSignal.timeout(LIST_TIMEOUT_MS)
  let cursor: string | null = null
  for (let page = 0; page < MOST_PAGES; page++) {
    const asked: JsonObject = { ...envelopeOf(params), ...(cursor !== null && { cursor }) }
    const { result, error } = await link.send({ method: 'tools/list', params: asked }, signal)
    if (result === null) throw new Error(String(error?.message ?? 'tools/list failed'))
    tools.push(...toolsIn(result))
    if (typeof result.nextCursor !== 'string') return tools
    cursor = result.nextCursor
  }
  throw new Error(`the list has more than ${MOST_PAGES} pages`)
}

const OTHER_STATE = 'requestState is that of another call, or too old: call the tool without it'

/** Judged all the same, so that the ledger shows that it was stopped. */
const DEFINITION_CHANGED: Stop = {
  reason: 'unmatched_tool_blocked',
  why:
    'definition_changed: its description or schema is another than the one that was approved. Go on without it until ' +
    'the change is approved',
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
