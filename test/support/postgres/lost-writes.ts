import { describe, expect, test } from 'vitest'
import type { Answer } from '../runtime/runtime.js'
import type { Fault, FaultyDatabase } from './faulty-database.js'

/** A write as a request that can be sent again. */
export interface Attempt {
  /** Of the session or workflow that it writes. */
  readonly id: string
  /** The same request every time, as a client that got no answer would send it again. */
  readonly send: () => Promise<Answer<unknown>>
  /** What the retry answers when the write was done, and its answer lost; where nothing is said, as if it were new. */
  readonly again?: { readonly status: number; readonly code: string }
}

interface LostWrites {
  readonly store: FaultyDatabase
  /** Each makes an attempt of its own. */
  readonly writes: Readonly<Record<string, () => Promise<Attempt>>>
  /** What is stored, to compare. */
  readonly keptOf: (id: string) => Promise<unknown>
  /** What is wrong with it; nothing should be. */
  readonly problemsOf: (id: string) => Promise<readonly unknown[]>
}

/** For every write, "fails before" and "is done, its answer lost": the client can go on and nothing happens twice. */
export function describeLostWrites({ store, writes, keptOf, problemsOf }: LostWrites): void {
  describe.each(Object.entries(writes))('%s', (_, attempt) => {
    test('is one write', async () => {
      const { send } = await attempt()
      store.takeWrites()
      await send()
      expect(store.takeWrites()).toBe(1)
    })

    test.each<[Fault, string]>([
      ['before', 'fails before it reaches the store'],
      ['after', 'is done and its answer lost'],
    ])('%s: %s, the client can go on and nothing happens twice', async (fault) => {
      const undisturbed = await attempt()
      const smooth = await undisturbed.send()
      const { send, id, again } = await attempt()
      const before = await keptOf(id)
      store.failNext(fault)
      const failed = await send()
      expect([failed.status, failed.problem.code]).toEqual([503, 'UNAVAILABLE'])
      if (fault === 'before') expect(await keptOf(id)).toEqual(before)
      const retried = await send()
      if (fault === 'after' && again !== undefined)
        expect([retried.status, retried.problem.code]).toEqual([again.status, again.code])
      else expect(retried.status).toBe(smooth.status)
      // Once more, to be sure: what is stored is what one undisturbed request leaves.
      await send()
      expect(await keptOf(id)).toEqual(await keptOf(undisturbed.id))
      expect(await problemsOf(id)).toEqual([])
    })
  })
}
