import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { createMemories } from '../base/memory/memories.js'
import { readRequest } from '../context/http-request.js'
import { createTurns } from './begin-in-turn.js'
import { createHeldBodies } from './held-bodies.js'
import { readBody } from './read-body.js'

const bodies = createHeldBodies(createMemories())

/** So many bodies of which nothing comes. */
function unfinished(count: number, owner: string, maxSeconds: number, turns = createTurns()) {
  const refused: string[] = []
  const all = Array.from({ length: count }, () => {
    const head = { method: 'POST', url: '/', rawHeaders: ['content-type', 'application/json'] }
    const incoming = Object.assign(new Readable({ read: () => {} }), head) as unknown as IncomingMessage
    readBody(readRequest(incoming), { maxBytes: 100, maxSeconds, owner, bodies, turns }).catch((error) =>
      refused.push(error.code),
    )
    return incoming
  })
  return { refused, all, turns }
}

/** How many were refused after each turn of the event loop. */
async function turnsOf(refused: readonly string[], all: number): Promise<number[]> {
  const after = [refused.length]
  const endMs = performance.now() + 5_000
  while ((after.at(-1) ?? 0) < all && performance.now() < endMs) {
    await setImmediate()
    after.push(refused.length)
  }
  return after
}

const largest = (after: readonly number[]) => Math.max(...after.map((count, at) => count - (after[at - 1] ?? 0)))

proves(
  'limit.connections.endings',
  'of bodies whose clients leave together, sixteen are refused in a turn',
  async () => {
    const { refused, all, turns } = unfinished(100, 'a', 60)
    const other = unfinished(1, 'b', 60, turns)
    await setTimeout(20)
    for (const incoming of [...all, ...other.all]) incoming.destroy()
    const after = turnsOf(refused, 100)
    await setImmediate()
    await setImmediate()
    expect(other.refused).toEqual(['INVALID_REQUEST'])
    expect(largest(await after)).toBeLessThanOrEqual(16)
    expect(refused).toHaveLength(100)
  },
)

proves('limit.connections.endings', 'and of bodies whose time is over together', async () => {
  const { refused } = unfinished(100, 'a', 0.05)
  await setTimeout(20)
  expect(largest(await turnsOf(refused, 100))).toBeLessThanOrEqual(16)
  expect(refused).toEqual(Array<string>(100).fill('REQUEST_TIMEOUT'))
})
