import { isObject, text } from '../base/json-object.js'
import type { ClientKind } from './clients.js'
import { type Method, patchMethod } from './patch-method.js'
import { unwrapClient, wrapClient } from './wrapped-clients.js'

/** Notices calls on the original client while a session holds it. They pass unchanged: nothing here can stop them. */
export interface BypassWatch {
  /** Puts the watch on, after the wrapper took the methods that it uses. */
  watch(client: object): void
  /** Runs a call of the wrapper's own. Both clients send the request before `create` returns. */
  unseen<T>(call: () => T): T
  /** Takes the watch off every client that it was put on. */
  stop(): void
}

/** What both clients send everything through: `post` and its like, and every method of every resource. */
const RAW_METHODS = ['request', 'getAPIList']

export function createBypassWatch(kind: ClientKind, onBypass: (method: string) => void): BypassWatch {
  const undo: (() => void)[] = []
  const governed = [...kind.methods].filter(([, { as }]) => as === 'governed').map(([path]) => path)
  const deriving = [...kind.methods].filter(([, { as }]) => as === 'derives').map(([path]) => path)
  let ownCalls = 0

  function unseen<T>(call: () => T): T {
    ownCalls += 1
    try {
      return call()
    } finally {
      ownCalls -= 1
    }
  }

  const reporting = (path: string, original: Method): Method =>
    function (this: unknown, ...args) {
      if (ownCalls === 0) onBypass(path)
      return unseen(() => Reflect.apply(original, this, args))
    }

  const listening = (original: Method): Method =>
    function (this: unknown, ...args) {
      if (ownCalls === 0) void reportModelCall(args)
      return Reflect.apply(original, this, args)
    }

  /** Requests are given as an object or as a promise of one, and lists with their path before it. */
  async function reportModelCall([first, , third]: unknown[]): Promise<void> {
    try {
      const given: unknown = await (typeof first === 'string' ? third : first)
      const request = isObject(given) ? given : {}
      const method = text(request.method).toUpperCase()
      const path = text(request.path) || text(first)
      if (isModelCall(kind, method, path)) onBypass(`${method} ${path}`)
    } catch {
      // The request fails where it is made.
    }
  }

  const watchingDerived = (original: Method): Method =>
    function (this: unknown, ...args) {
      const derived = Reflect.apply(original, this, args)
      if (isObject(derived)) watch(derived)
      return derived
    }

  function patch(client: object, path: string, around: (original: Method) => Method): void {
    const takeOff = patchMethod(client, path, around)
    if (takeOff !== null) undo.push(takeOff)
  }

  function watch(client: object): void {
    // A client derived from one that a session holds is held by that session too.
    if (wrapClient(client, 'replay') === null) undo.push(() => unwrapClient(client))
    for (const path of governed) patch(client, path, (original) => reporting(path, original))
    for (const path of RAW_METHODS) patch(client, path, listening)
    for (const path of deriving) patch(client, path, watchingDerived)
  }

  return {
    watch,
    unseen,
    stop() {
      for (const one of undo.splice(0)) one()
    },
  }
}

function isModelCall({ modelEndpoints }: ClientKind, method: string, path: string): boolean {
  return method === 'POST' && modelEndpoints.test(path.replace(/[?#].*$/, '').replace(/\/+$/, ''))
}
