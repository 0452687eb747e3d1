// A process of its own: a tenant that does its ordinary work while somebody else attacks the service.
// { watch: { url, key } } begins, { stop: true } ends and gives the times of its turns and kills.
import { randomUUID } from 'node:crypto'
import { pathOf, ROUTES } from '@countersign/protocol'
import { benchPlan } from '../bench-plan.js'
import { openBenchSession } from '../governed-cycles.js'
import { type HttpConnection, openConnection } from '../http-connection.js'

export interface Watched {
  readonly kills: readonly number[]
  readonly turns: readonly number[]
  /** Requests that were refused or never answered; each counts with `LOST_MS` in its list. */
  readonly lost: number
}

/** What a request that was never answered counts as. */
export const LOST_MS = 30_000
const KILL_EVERY_MS = 100
const TURN_EVERY_MS = 25
/** Sessions to be killed are made beforehand: making one is not what is measured. */
const SESSIONS_AHEAD = 20

const { compiled_session, compiled_hash } = benchPlan()
const wait = (ms: number) => new Promise((done) => setTimeout(done, ms))

let watching: { stop(): Promise<Watched> } | null = null

process.on('message', (order: { watch?: { url: string; key: string }; stop?: true }) => {
  if (order.watch !== undefined) void watch(order.watch.url, order.watch.key).then(() => process.send?.('watching'))
  else void watching?.stop().then((watched) => process.send?.(watched))
})

async function watch(url: string, key: string): Promise<void> {
  const kills: number[] = []
  const turns: number[] = []
  let lost = 0
  let running = true
  const timed = async (times: number[], work: () => Promise<unknown>) => {
    const before = performance.now()
    let failed = false
    const limit = wait(LOST_MS).then(() => {
      throw new Error('never answered')
    })
    await Promise.race([work(), limit]).catch(() => {
      failed = true
    })
    limit.catch(() => {})
    if (failed && running) lost += 1
    times.push(failed ? LOST_MS : performance.now() - before)
    return !failed
  }
  const ready: string[] = []
  const idle: HttpConnection[] = []
  const onConnection = async <Result>(work: (connection: HttpConnection) => Promise<Result>) => {
    const connection = idle.pop() ?? (await openConnection(url, key))
    const result = await work(connection)
    idle.push(connection)
    return result
  }
  const create = async () => {
    const session_id = randomUUID()
    const body = JSON.stringify({ session_id, holder_id: 'neighbour', compiled_hash, compiled_session })
    const { status } = await onConnection((connection) => connection.post(pathOf(ROUTES.createSession), body))
    if (status === 201) ready.push(session_id)
  }
  const kill = (session_id: string) =>
    onConnection(async (connection) => {
      const { status } = await connection.post(pathOf(ROUTES.killSession, { session_id }), '{"reason":"bench"}')
      if (status !== 200) throw new Error(`a kill was answered ${status}`)
    })
  for (let made = 0; made < SESSIONS_AHEAD; made++) await create()
  let session = await openBenchSession(url, key)
  for (let warm = 0; warm < 10; warm++) await session.cycle()

  // At a fixed pace, whether or not the last one was answered: a stall must not hide the requests behind it.
  const pending = new Set<Promise<unknown>>()
  const killer = setInterval(() => {
    const next = ready.shift()
    if (next === undefined) return
    const killed = timed(kills, () => kill(next))
    pending.add(killed)
    void killed.then(() => pending.delete(killed))
    create().catch(() => {})
  }, KILL_EVERY_MS)
  const turning = (async () => {
    while (running) {
      const { cycle } = session
      if (!(await timed(turns, cycle)) && running) session = await openBenchSession(url, key).catch(() => session)
      await wait(TURN_EVERY_MS)
    }
  })()
  watching = {
    stop: async () => {
      clearInterval(killer)
      running = false
      await Promise.all([turning, ...pending])
      for (const connection of idle) connection.close()
      session.close()
      return { kills, turns, lost }
    },
  }
}
