import { once } from 'node:events'
import { connect as connectTo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { ROUTES, type RouteName } from '@countersign/protocol'
import { afterAll, beforeAll, expect } from 'vitest'
import { createTransport, ServiceRefusal } from '../../../packages/sdk/src/authority/transport.js'
import { type Exchange, exchangeByNode } from '../../../packages/sdk/src/base/exchange.js'
import { readConfig } from '../../../packages/server/src/base/config.js'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import { createTenant } from '../../../packages/server/src/process/operator.js'
import { startServer } from '../../../packages/server/src/process/start-server.js'
import { type Claims, judge, openClaims, work } from '../../cluster/load.js'
import { PATIENCE_MS, rounds } from '../../support/data/rounds.js'
import { createTestDatabase } from '../../support/postgres/database.js'
import { type Balancer, startBalancer } from '../../support/process/balancer.js'
import { buildOnce, countersign } from '../../support/process/command-line.js'
import { proves } from '../../support/proves.js'
import type { Answer, Api } from '../../support/runtime/runtime.js'

/** In long rounds every instance is a process that gets a signal; in short ones it lives in this one. */
const isLong = rounds(0, 1) === 1
const INSTANCES = rounds(2, 3)
const CLIENTS = rounds(4, 6)
/** How often every instance is replaced. */
const UPGRADES = rounds(1, 3)

interface Instance {
  readonly origin: string
  stop(): Promise<unknown>
}

const database = await createTestDatabase()
const sql = connect({ url: database.url }, { max: 2 })
const settings = {
  DATABASE_URL: database.url,
  COUNTERSIGN_QUOTAS: JSON.stringify({ scale: { write: 1e8, read: 1e8, evidence: 1e8, proposal: 1e8 } }),
  COUNTERSIGN_LOG_LEVEL: 'error',
  COUNTERSIGN_DEMO: 'off',
  COUNTERSIGN_PORT: '0',
  COUNTERSIGN_POOL_SIZE: '8',
}
let balancer: Balancer
let instances: Instance[] = []
beforeAll(async () => {
  if (isLong) buildOnce()
  instances = await Promise.all(Array.from({ length: INSTANCES }, startInstance))
  balancer = await startBalancer(() => instances.map(({ origin }) => origin))
})
afterAll(async () => {
  await balancer?.close()
  await Promise.all(instances.map((instance) => instance.stop()))
  await sql.end({ timeout: 1 })
  await database.drop()
})

async function startInstance(): Promise<Instance> {
  if (!isLong) {
    const { url, close } = await startServer(readConfig(settings))
    return { origin: url, stop: close }
  }
  const command = countersign(['start'], settings)
  const [, origin = ''] = await command.says(/is running at (http\S+)/)
  const stop = async () => {
    command.child.kill('SIGTERM')
    expect(await command.ended).toBe(0)
  }
  return { origin, stop }
}

/** Attempts that got no answer or a 5xx. */
const failures = new Map<string, number>()
const noted: Exchange = async (request) => {
  const note = (what: string) => failures.set(what, (failures.get(what) ?? 0) + 1)
  const answer = await exchangeByNode(request).catch((error: NodeJS.ErrnoException) => {
    note(error.code ?? error.name)
    throw error
  })
  if (answer.status >= 500) note(String(answer.status))
  return answer
}

/** The routes by the SDK's own transport, with the retries that every program has. */
function retryingApi(key: string): Api {
  const transport = createTransport({ baseUrl: balancer.origin, apiKey: key, timeoutMs: 30_000, exchange: noted })
  const call =
    (name: RouteName) =>
    async (given: object): Promise<Answer<unknown>> => {
      const status = name === 'createSession' ? 201 : 200
      const answer = (status: number, body: unknown) =>
        ({ status, headers: new Headers(), body, problem: body }) as never
      try {
        return answer(status, await transport.call(name, given))
      } catch (error) {
        if (error instanceof ServiceRefusal) return answer(error.status, error.problem)
        throw error
      }
    }
  return Object.fromEntries((Object.keys(ROUTES) as RouteName[]).map((name) => [name, call(name)])) as unknown as Api
}

proves(
  'scale.rolling-upgrade',
  'a request that is under way when its instance is stopped is answered, and told not to use the connection again',
  async () => {
    const { origin, stop } = await startInstance()
    const { port, hostname } = new URL(origin)
    const client = connectTo(Number(port), hostname).setEncoding('utf8')
    let heard = ''
    client.on('data', (chunk) => {
      heard += chunk
    })
    client.write(
      'POST /api/auth/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{',
    )
    // Answered on another connection: the half request has been read by then.
    expect((await fetch(`${origin}/readyz`)).status).toBe(200)
    const stopped = stop()
    await expect
      .poll(() =>
        fetch(`${origin}/readyz`).then(
          () => 'open',
          () => 'closed',
        ),
      )
      .toBe('closed')
    client.write('}')
    await once(client, 'end')
    expect(heard).toMatch(/^HTTP\/1\.1 4\d\d [\s\S]*\r\nconnection: close\r\n/i)
    await stopped
  },
)

const written = (all: readonly Claims[]) => all.reduce((sum, { writes }) => sum + writes.length, 0)

proves(
  'scale.rolling-upgrade',
  'instances are replaced one after another under load: an ordinary retry cures whatever fails, nothing is lost or done twice',
  async () => {
    const { key } = await createTenant('rolling', 'scale', readConfig(settings))
    const api = retryingApi(key)
    const all = await Promise.all(Array.from({ length: CLIENTS }, () => openClaims(api)))
    let over = false
    const working = all.map((claims) => work(claims, () => over))
    const moreWrites = async (more: number) => {
      const enough = written(all) + more
      while (written(all) < enough) await sleep(5)
    }
    await moreWrites(CLIENTS)
    for (let replaced = 0; replaced < UPGRADES * INSTANCES; replaced += 1) {
      const next = await startInstance()
      const old = instances.shift()
      instances.push(next)
      await old?.stop()
      await moreWrites(CLIENTS * 2)
    }
    over = true
    await Promise.all(working)

    const refusals = all.flatMap((claims) => claims.refusals)
    const verdict = await judge(all, sql)
    console.log(JSON.stringify({ ...verdict, replaced: UPGRADES * INSTANCES, retried: Object.fromEntries(failures) }))
    expect(refusals).toEqual([])
    expect(verdict).toMatchObject({ lost: 0, usedTwice: 0, allowsAfterKill: 0, problems: [] })
    expect(verdict.acknowledged).toBeGreaterThan(UPGRADES * INSTANCES * CLIENTS)
  },
  PATIENCE_MS,
)
