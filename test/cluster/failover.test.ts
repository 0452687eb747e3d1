import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect } from 'vitest'
import { readConfig } from '../../packages/server/src/base/config.js'
import { connect } from '../../packages/server/src/postgres/connect.js'
import type { Sql } from '../../packages/server/src/postgres/sql.js'
import { createTenant } from '../../packages/server/src/process/operator.js'
import { buildOnce, type Command, countersign } from '../support/process/command-line.js'
import { proves } from '../support/proves.js'
import { apiOverAll, type Claims, judge, killUntilDone, openClaims, work } from './load.js'
import type { Machine } from './machines.js'
import { type Cluster, startCluster } from './patroni.js'

const ROUNDS = Number(process.env.COUNTERSIGN_CLUSTER_ROUNDS ?? 2)
const CLIENTS = 6
const INSTANCES = 3

/** Three ways to lose the machine of the primary. */
const LOSSES: Record<string, (cluster: Cluster, primary: Machine) => void> = {
  'killed with -9': (cluster, primary) => cluster.killPrimary(primary),
  'off the network': (_, primary) => primary.unplug(),
  'cut off from the other machines': (_, primary) => primary.cutFromPeers(),
}

let cluster: Cluster
let sql: Sql
let key: string
let services: { command: Command; origin: string }[]
beforeAll(async () => {
  buildOnce()
  cluster = await startCluster()
  await cluster.healthy()
  const tenant = await createTenant('cluster', 'scale', readConfig({ DATABASE_URL: cluster.url }))
  key = tenant.key
  sql = connect({ url: cluster.url }, { max: 2 })
  services = await Promise.all(Array.from({ length: INSTANCES }, startService))
})
afterAll(async () => {
  await sql?.end({ timeout: 1 })
  for (const { command } of services ?? []) {
    command.child.kill('SIGTERM')
    await command.ended
  }
  await cluster?.remove()
})

async function startService() {
  const quotas = JSON.stringify({ scale: { write: 1e8, read: 1e8, evidence: 1e8, proposal: 1e8 } })
  const command = countersign(['start', '--port', '0'], {
    DATABASE_URL: cluster.url,
    COUNTERSIGN_QUOTAS: quotas,
    COUNTERSIGN_LOG_LEVEL: 'error',
    COUNTERSIGN_DEMO: 'off',
  })
  const [, origin = ''] = await command.says(/is running at (http\S+)/)
  return { command, origin }
}

async function untilAcknowledged(all: readonly Claims[], more: number, sinceMs: number): Promise<void> {
  const end = performance.now() + 240_000
  const isBehind = ({ writes, killedMs }: Claims) =>
    killedMs === null && writes.filter(({ sentMs }) => sentMs >= sinceMs).length < more
  while (all.some(isBehind)) {
    if (performance.now() > end)
      throw new Error(`clients are not served any more:\n${services.map(({ command }) => command.output()).join('\n')}`)
    await sleep(20)
  }
}

/**
 * The primary, as soon as both others follow it: Patroni calls a machine that was away well before it has caught up. Such
 * a machine may wait for something to be written.
 */
async function healthy(): Promise<Machine> {
  const write = () => void sql`select pg_logical_emit_message(true, 'test', ''), pg_switch_wal()`.catch(() => {})
  const writing = setInterval(write, 2_000)
  try {
    for (;;) {
      const primary = await cluster.healthy()
      if ((await followers(primary)) === 2) return primary
      await sleep(500)
    }
  } finally {
    clearInterval(writing)
  }
}

async function followers(primary: Machine): Promise<number> {
  const own = connect({ url: cluster.urlOf(primary) }, { max: 1 })
  try {
    const [row] = await own<{ following: number }[]>`
      select count(*)::int as following from pg_stat_replication where state = 'streaming'`
    return row?.following ?? 0
  } catch {
    return 0
  } finally {
    await own.end({ timeout: 1 })
  }
}

/** One loss under load. Returns how long it took until a write was accepted again, and everything the clients were told. */
async function lose(lossOf: (cluster: Cluster, primary: Machine) => void) {
  const primary = await healthy()
  const api = apiOverAll(() => services.map(({ origin }) => origin), key)
  const all = await Promise.all(Array.from({ length: CLIENTS }, () => openClaims(api)))
  let over = false
  const working = all.map((claims) => work(claims, () => over))
  await untilAcknowledged(all, 10, 0)
  lossOf(cluster, primary)
  const lostMs = performance.now()
  const killing = all.slice(0, 2).map((claims) => killUntilDone(claims))
  await untilAcknowledged(all, 6, lostMs)
  await Promise.all(killing)
  over = true
  await Promise.all(working)
  primary.plug()
  const again = all.flatMap(({ writes }) => writes).filter(({ sentMs }) => sentMs >= lostMs)
  const refusals = all.flatMap((claims) => claims.refusals)
  return { all, refusals, againMs: Math.min(...again.map(({ acknowledgedMs }) => acknowledgedMs)) - lostMs }
}

const secondsOf = (ms: number | undefined) => Number(((ms ?? 0) / 1_000).toFixed(1))
const middle = (sorted: readonly number[]) => sorted[Math.floor((sorted.length - 1) / 2)]
const rising = (values: readonly number[]) => values.toSorted((a, b) => a - b)

for (const [name, lossOf] of Object.entries(LOSSES)) {
  proves(
    'scale.failover.nothing-lost',
    `the primary is ${name} under load, again and again: nothing acknowledged is gone, nothing happens twice`,
    async () => {
      const everything: Claims[] = []
      const times: number[] = []
      const refused: number[] = []
      const codes = new Map<string, number>()
      for (let round = 0; round < ROUNDS; round += 1) {
        const { all, againMs, refusals } = await lose(lossOf)
        everything.push(...all)
        times.push(againMs)
        for (const { code, tookMs } of refusals) {
          refused.push(tookMs)
          codes.set(code, (codes.get(code) ?? 0) + 1)
        }
        console.log(`${name}, round ${round + 1}: a write was accepted again after ${secondsOf(againMs)} s`)
      }
      await healthy()
      const verdict = await judge(everything, sql)
      const figures = {
        loss: name,
        rounds: ROUNDS,
        again_s: { median: secondsOf(middle(rising(times))), worst: secondsOf(Math.max(...times)) },
        refused: { ...Object.fromEntries(codes) },
        refused_after_s: { median: secondsOf(middle(rising(refused))), worst: secondsOf(rising(refused).at(-1)) },
        sessions: everything.length,
        ...verdict,
      }
      console.log(JSON.stringify(figures))
      expect(verdict).toMatchObject({ lost: 0, usedTwice: 0, allowsAfterKill: 0, problems: [] })
      expect(verdict.acknowledged).toBeGreaterThan(everything.length * 10)
    },
  )
}
