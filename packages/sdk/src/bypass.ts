import { isObject } from './json-object.js'
import { type ClientKind, memberAt } from './providers/clients.js'
import { notePatched } from './wrapped-clients.js'

/** Ways to a model that a wrapper refuses, and that the original client still has. */
const OTHER_MODEL_CALLS = [
  'completions.create',
  'batches.create',
  'messages.batches.create',
  'beta.messages.create',
  'beta.messages.batches.create',
  'beta.threads.runs.create',
  'beta.threads.createAndRun',
]

type Method = (...args: unknown[]) => unknown

/**
 * Notices calls on the original client while a session holds it. They pass unchanged: the wrapper cannot stop them.
 * Put on after the wrapper took the methods it uses, so that it does not meet this. Returns what takes it off again.
 */
export function watchForBypass(client: object, kind: ClientKind, onBypass: (method: string) => void): () => void {
  const undo: (() => void)[] = []
  const patch = (path: string, around: (original: Method) => Method): void => {
    const member = memberAt(client, path)
    if (typeof member?.value !== 'function') return
    const { owner, value } = member
    const name = path.split('.').at(-1) ?? ''
    const own = Object.getOwnPropertyDescriptor(owner, name)
    const patched = around(value as Method)
    notePatched(patched, value as Method)
    Object.defineProperty(owner, name, { value: patched, configurable: true, enumerable: false, writable: true })
    undo.push(() => {
      // Somebody may have patched over this patch; theirs stays.
      if (Reflect.get(owner, name) !== patched) return
      if (own === undefined) Reflect.deleteProperty(owner, name)
      else Object.defineProperty(owner, name, own)
    })
  }
  const governed = [...kind.methods].filter(([, { as }]) => as === 'governed').map(([path]) => path)
  for (const path of [...governed, ...OTHER_MODEL_CALLS]) {
    patch(
      path,
      (original) =>
        function (this: unknown, ...args) {
          onBypass(path)
          return Reflect.apply(original, this, args)
        },
    )
  }
  for (const [path, { as }] of kind.methods) {
    if (as !== 'derives') continue
    patch(
      path,
      (original) =>
        function (this: unknown, ...args) {
          const derived = Reflect.apply(original, this, args)
          if (isObject(derived)) undo.push(watchForBypass(derived, kind, onBypass))
          return derived
        },
    )
  }
  return () => {
    for (const one of undo) one()
  }
}
