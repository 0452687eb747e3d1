import { expect, test, vi } from 'vitest'
import type { DatabaseHost } from '../base/database-address.js'
import type { Standing } from './host-probe.js'
import { createPrimaryWatch, NoPrimary } from './primary-watch.js'

const PRIMARY = (timeline: number): Standing => ({ isWritable: true, timeline })
const STANDBY: Standing = { isWritable: false, timeline: 0 }

/** Hosts that say what the test wants, and a note of what the connections were told. */
function startWatch(...standings: (Standing | null)[]) {
  const hosts: DatabaseHost[] = standings.map((_, at) => ({ host: `db${at + 1}`, port: 5432 }))
  const says = new Map(hosts.map((host, at) => [host, standings[at] ?? null]))
  const told: (string | null)[] = []
  const asked = { count: 0, open: 0 }
  const connections = { open: true, answers: 0 }
  const watch = createPrimaryWatch({
    hosts,
    everyMs: 1,
    probe: (host) => {
      asked.open += 1
      return {
        ask: async () => {
          asked.count += 1
          const standing = says.get(host)
          if (!standing) throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
          return standing
        },
        close: () => {
          asked.open -= 1
        },
      }
    },
    watched: {
      inUse: () => connections.open,
      answersOf: () => connections.answers,
      changed: (host) => told.push(host?.host ?? null),
    },
  })
  const say = (at: number, standing: Standing | null) => says.set(hosts[at] as DatabaseHost, standing)
  const stop = async () => {
    connections.open = false
    await vi.waitFor(() => expect(asked.open).toBe(0))
  }
  return { watch, say, told, asked, connections, stop }
}

const chosen = (watch: ReturnType<typeof startWatch>['watch']) => watch.choose().then(({ host }) => host)

test('the one that takes writes, whatever its place, and the next one after a promotion', async () => {
  const { watch, say, told, stop } = startWatch(null, STANDBY, PRIMARY(1))
  expect(await chosen(watch)).toBe('db3')
  say(2, null)
  say(1, PRIMARY(2))
  await vi.waitFor(async () => expect(await chosen(watch)).toBe('db2'))
  expect(told.at(0)).toBe('db3')
  expect(told.at(-1)).toBe('db2')
  await stop()
})

test('of two that take writes, the one that was promoted last; never back to the other', async () => {
  const { watch, say, stop } = startWatch(PRIMARY(4), PRIMARY(5))
  await vi.waitFor(async () => expect(await chosen(watch)).toBe('db2'))
  say(1, null)
  await vi.waitFor(() => expect(watch.choose()).rejects.toThrow('db1:5432 was replaced (timeline 4, and 5 was seen)'))
  await stop()
})

test('while none takes writes it says so at once, with what each one says', async () => {
  const { watch, say, told, stop } = startWatch(PRIMARY(1), STANDBY)
  await chosen(watch)
  say(0, null)
  await vi.waitFor(() => expect(told).toEqual(['db1', null]))
  const refused = watch.choose()
  await expect(refused).rejects.toThrow(NoPrimary)
  await expect(refused).rejects.toThrow('db1:5432 cannot be asked (ECONNREFUSED), db2:5432 is a standby or read-only')
  await stop()
})

test('a primary too busy to answer the watch is kept while others hear it', async () => {
  const { watch, say, told, asked, connections, stop } = startWatch(PRIMARY(1), STANDBY)
  await chosen(watch)
  // More has been read each time it looks.
  Object.defineProperty(connections, 'answers', { get: () => performance.now() })
  say(0, null)
  const until = asked.count + 40
  await vi.waitFor(() => expect(asked.count).toBeGreaterThan(until))
  expect(told).toEqual(['db1'])
  await stop()
})

test('nobody is asked while nobody is connected, and the next connection asks again', async () => {
  const { watch, asked, connections, stop } = startWatch(STANDBY, PRIMARY(1))
  expect(await chosen(watch)).toBe('db2')
  await stop()
  const { count } = asked
  await new Promise((done) => setTimeout(done, 20))
  expect(asked.count).toBe(count)
  connections.open = true
  expect(await chosen(watch)).toBe('db2')
  expect(asked.count).toBeGreaterThan(count)
  await stop()
})
