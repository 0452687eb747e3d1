import { isObject, type JsonObject } from '../base/json-object.js'
import type { Provider } from '../providers/provider.js'
import { isClientStream, layStream } from './client-stream.js'
import type { ClientKind } from './clients.js'
import { type Method, patchMethod } from './patch-method.js'
import { unwrapClient, wrapClient } from './wrapped-clients.js'

/** A call of a model that has come to its end. */
export interface SeenCall {
  provider: Provider
  request: JsonObject
  response: JsonObject
  /** By the monotonic clock, in milliseconds. */
  startedMs: number
  latencyMs: number
}

/**
 * Patches the methods of a client that call a model, in place, and those of clients that are derived from it. The
 * program gets what the client made: the same promise, the same response, the same stream. Returns what takes the
 * patches back.
 */
export function watchClient(client: object, kind: ClientKind, seen: (call: SeenCall) => void): () => void {
  const undo: (() => void)[] = []
  const add = (one: (() => void) | null): void => {
    if (one !== null) undo.push(one)
  }
  const watch = (watched: object): void => {
    for (const [path, treatment] of kind.methods) {
      if (treatment.as === 'governed') add(patchMethod(watched, path, watching(treatment.provider, seen)))
      if (treatment.as === 'derives') add(patchMethod(watched, path, deriving(watchDerived)))
    }
  }
  const watchDerived = (derived: object): void => {
    if (wrapClient(derived, 'observe') !== null) return
    add(() => unwrapClient(derived))
    watch(derived)
  }
  watch(client)
  return () => {
    for (const one of undo.splice(0)) one()
  }
}

const watching =
  (provider: Provider, seen: (call: SeenCall) => void) =>
  (original: Method, owner: object): Method =>
    function (this: unknown, ...args) {
      const watch = begin(provider, args[0], seen)
      const call = Reflect.apply(original, this ?? owner, args)
      if (watch !== null) watchCall(call, watch)
      return call
    }

const deriving =
  (watch: (derived: object) => void) =>
  (original: Method, owner: object): Method =>
    function (this: unknown, ...args) {
      const derived = Reflect.apply(original, this ?? owner, args)
      quietly(() => isObject(derived) && watch(derived))
      return derived
    }

/** Watching must not be felt: what goes wrong in it stays in it. */
function quietly(work: () => unknown): void {
  try {
    work()
  } catch {
    // This call is not captured.
  }
}

interface Watch {
  readonly provider: Provider
  readonly request: JsonObject
  readonly startedMs: number
  readonly seen: (call: SeenCall) => void
  isOver: boolean
}

const LISTS = ['messages', 'input', 'tools', 'functions'] as const

/** Null when the request cannot be looked at. */
function begin(provider: Provider, request: unknown, seen: Watch['seen']): Watch | null {
  try {
    const sent = isObject(request) ? { ...request } : {}
    // Programs go on filling the lists that they sent.
    for (const name of LISTS) {
      const list = sent[name]
      if (Array.isArray(list)) sent[name] = [...list]
    }
    return { provider, request: sent, startedMs: performance.now(), seen, isOver: false }
  } catch {
    return null
  }
}

function done(watch: Watch, response: JsonObject): void {
  if (watch.isOver) return
  watch.isOver = true
  const { provider, request, startedMs, seen } = watch
  seen({ provider, request, response, startedMs, latencyMs: performance.now() - startedMs })
}

/**
 * Both clients read a response only when it is asked for, by `parseResponse` of the promise. Awaiting the promise here
 * would read it, and leave nothing to a program that wants the raw one.
 */
function watchCall(call: unknown, watch: Watch): void {
  quietly(() => {
    if (!isObject(call)) return
    const parse: unknown = call.parseResponse
    if (typeof parse !== 'function') return watchPromise(call, watch)
    call.parseResponse = (...args: unknown[]) => {
      const parsed: unknown = Reflect.apply(parse, call, args)
      // Runs before the program sees what is returned: a stream has its layer when the program gets it.
      quietly(() => watchPromise(parsed, watch))
      return parsed
    }
  })
}

function watchPromise(promise: unknown, watch: Watch): void {
  if (!isObject(promise) || typeof promise.then !== 'function') return
  promise.then(
    (data: unknown) => quietly(() => watchData(data, watch)),
    () => {},
  )
}

function watchData(data: unknown, watch: Watch): void {
  if (isClientStream(data)) layStream(data, (source) => tap(source(), watch))
  else if (isObject(data)) done(watch, data)
}

/** Hands every event on as it is. A stream that the program leaves, or that fails, before its end is not captured. */
function tap(source: AsyncIterator<unknown>, watch: Watch): AsyncIterableIterator<unknown> {
  const reader = watch.provider.readStream(watch.request)
  const take = (event: unknown): void => {
    quietly(() => isObject(event) && reader.take(event))
  }
  const atEnd = (): void => {
    quietly(() => reader.complete() && done(watch, reader.response()))
  }
  const tapped: AsyncIterableIterator<unknown> = {
    next: async (...args) => {
      const result = await source.next(...args)
      if (result.done) atEnd()
      else take(result.value)
      return result
    },
    [Symbol.asyncIterator]: () => tapped,
  }
  if (source.return !== undefined) {
    tapped.return = async (value) => {
      atEnd()
      return source.return?.(value) ?? { done: true, value }
    }
  }
  if (source.throw !== undefined) tapped.throw = async (error) => source.throw?.(error) ?? Promise.reject(error)
  return tapped
}
