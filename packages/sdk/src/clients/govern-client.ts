import type { Decision } from '@countersign/protocol'
import { ReplayConfigError } from '../base/errors.js'
import { isObject, type JsonObject } from '../base/json-object.js'
import type { Provider } from '../providers/provider.js'
import type { GovernedPromise } from './api-promise.js'
import { type ClientKind, memberAt, type Treatment } from './clients.js'
import type { Method } from './patch-method.js'
import { unpatched, wrapClient } from './wrapped-clients.js'

export interface ClientGovernor {
  /** Runs one call of the model. May throw to refuse it. */
  runTurn(call: ModelCall): GovernedPromise
  /** Called before any method is looked at: throws when the wrapper is no longer in use. */
  assertUsable(): void
  /** Verdicts can stop a call. Where they cannot, whatever is not governed passes to the original. */
  binds(): boolean
  /** Makes a call of the wrapper's own on the original client, so that it is not taken for the program's. */
  send<T>(call: () => T): T
}

/** A call of the model as the program made it. */
export interface ModelCall {
  readonly provider: Provider
  readonly request: JsonObject
  /** Calls the model through the original client. */
  send(request: JsonObject): unknown
  /** Hears which calls are blocked in an answer that comes whole, before it is shown. */
  readonly onBlocked?: (blocked: readonly Blocked[]) => void
}

/** A blocked call, or a request that was blocked before the model was asked: then the tool is `*`. */
export type Blocked = Pick<Decision, 'tool_name' | 'reason'>

/**
 * A client that looks like the original, and on which every method that could bring a tool call is governed or throws.
 * Methods are let through by name, so one that a later version of the client adds is refused until it is known.
 */
export function governClient<Client extends object>(
  client: Client,
  kind: ClientKind,
  governor: ClientGovernor,
): Client {
  // Taken now: what is patched onto the original later, to notice direct calls, is not met from here.
  const originals = new Map<Provider, Send>()
  for (const treatment of kind.methods.values()) {
    if (treatment.as === 'governed') bindOriginal(client, treatment.provider, originals)
  }

  const create = (provider: Provider, path: string) => (request: unknown, options?: unknown) => {
    governor.assertUsable()
    const send = originals.get(provider)
    if (send === undefined) throw refusal(path)
    if (!governor.binds() && goesElsewhere(options)) return governor.send(() => send(request as JsonObject, options))
    const { body, rest } = sentBy(request, options)
    return governor.runTurn({ provider, request: body, send: (sent) => governor.send(() => send(sent, rest)) })
  }

  const method = (treatment: Treatment | undefined, path: string, owner: object, original: Method): unknown => {
    if (treatment === undefined) {
      return (...args: unknown[]) => {
        if (governor.binds()) throw refusal(path)
        return governor.send(() => Reflect.apply(unpatched(original), owner, args))
      }
    }
    switch (treatment.as) {
      case 'governed':
        return create(treatment.provider, path)
      case 'helper':
        // The helper sees nothing of the original: neither its `create` nor, by `_client`, any other way to a model.
        return (...args: unknown[]) => {
          governor.assertUsable()
          return Reflect.apply(original, { create: create(treatment.provider, path), _client: root }, args)
        }
      case 'harmless':
        return (...args: unknown[]) => {
          governor.assertUsable()
          return Reflect.apply(original, owner, args)
        }
      case 'derives':
        return (...args: unknown[]) => {
          governor.assertUsable()
          const derived: unknown = Reflect.apply(unpatched(original), owner, args)
          return isObject(derived) ? governClient(derived, kind, governor) : derived
        }
    }
  }

  const facade = (target: object, path: string): object => {
    const members = new Map<string, { original: object; governed: unknown }>()
    return facadeOf(target, (name) => {
      const value: unknown = Reflect.get(target, name, target)
      if (path === '' && name === 'apiKey' && governor.binds()) throw keyRefusal()
      // `await client` asks for `then`, and what both clients mark as internal leads to the original.
      const at = path === '' ? name : `${path}.${name}`
      if ((name.startsWith('_') && !kind.internals?.has(at)) || value === undefined) return undefined
      if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return value
      // The same function and the same object each time they are asked for, as on the original.
      const known = members.get(name)
      if (known !== undefined && (known.original === value || typeof value === 'object')) return known.governed
      const governed = governedMember(target, at, value)
      members.set(name, { original: value, governed })
      return governed
    })
  }

  const governedMember = (owner: object, at: string, value: object): unknown => {
    if (typeof value === 'function')
      return method(kind.methods.get(at) ?? kind.internals?.get(at), at, owner, value as Method)
    return at === 'logger' ? value : facade(value, at)
  }

  const root = facade(client, '')
  wrapClient(root, 'wrapper')
  return root as Client
}

function goesElsewhere(options: unknown): boolean {
  return isObject(options) && (options.path !== undefined || options.method !== undefined)
}

/**
 * What a call really sends. Both clients let the option `body` replace the request, and `path` or `method` send it
 * elsewhere: the first is governed as the request that it is, the others are refused.
 */
function sentBy(request: unknown, options: unknown): { body: JsonObject; rest: unknown } {
  if (!isObject(options)) return { body: isObject(request) ? request : {}, rest: options }
  for (const name of ['path', 'method']) {
    if (options[name] !== undefined) throw elsewhere(name)
  }
  const { body: replaced, ...rest } = options
  const body = replaced === undefined ? request : replaced
  return { body: isObject(body) ? body : {}, rest }
}

type Send = (request: JsonObject, options: unknown) => unknown

function bindOriginal(client: object, provider: Provider, originals: Map<Provider, Send>): void {
  const member = memberAt(client, provider.createPath)
  if (typeof member?.value !== 'function') return
  const { owner, value: original } = member
  originals.set(provider, (request, options) =>
    Reflect.apply(original as Method, owner, options === undefined ? [request] : [request, options]),
  )
}

/** Stands on an empty object of the same prototype, so that `instanceof` holds and nothing real can be reached. */
function facadeOf(target: object, member: (name: string) => unknown): object {
  return new Proxy(Object.create(Object.getPrototypeOf(target)), {
    get: (_stand, name) => (typeof name === 'string' ? member(name) : undefined),
    has: (_stand, name) => Reflect.has(target, name),
    set: (_stand, name, value) => {
      // A key may be renewed; a method may not be put in the place of a governed one.
      if (typeof value === 'object' || typeof value === 'function') return false
      return Reflect.set(target, name, value, target)
    },
    defineProperty: () => false,
    deleteProperty: () => false,
    setPrototypeOf: () => false,
  })
}

function elsewhere(option: string): ReplayConfigError {
  return new ReplayConfigError(
    `the option ${option} would send the request somewhere other than the governed endpoint: omit it`,
    null,
  )
}

/** Sockets of the clients are made of the key and the address of the client that they are given. */
function keyRefusal(): ReplayConfigError {
  return new ReplayConfigError(
    'Responses and Realtime over WebSocket are not governed, and a governed client does not give out its apiKey, with ' +
      'which they would reach a model without its tool calls being judged. Use create, parse or stream over HTTP; ' +
      'the original client has the key.',
    null,
  )
}

function refusal(path: string): ReplayConfigError {
  return new ReplayConfigError(
    `${path} is not governed: it could reach a model without its tool calls being judged. ` +
      'Use create, parse or stream of chat.completions, responses or messages; ' +
      'what calls no model can be called on the original client.',
    null,
  )
}
