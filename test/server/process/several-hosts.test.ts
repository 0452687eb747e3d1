import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { migrate } from '../../../packages/server/src/schema/migrate.js'
import { startTcpProxy, type TcpProxy } from '../../support/postgres/tcp-proxy.js'
import { proves } from '../../support/proves.js'
import { HELP_DESK, planOf } from '../../support/runtime/plans.js'
import { type Runtime, startRuntime, TEST_ORIGIN } from '../../support/runtime/runtime.js'

const plan = planOf(HELP_DESK)

/** Two ways to one PostgreSQL, as if it were two of them of which each can be lost. */
let runtime: Runtime
let first: TcpProxy
let second: TcpProxy
let url: string
afterEach(async () => {
  await runtime.close()
  await Promise.all([first.close(), second.close()])
})

const hostOf = (proxy: TcpProxy) => new URL(proxy.url).host

async function start() {
  runtime = await startRuntime({
    through: async (target) => {
      first = await startTcpProxy(target)
      second = await startTcpProxy(target)
      url = first.url.replace(hostOf(first), `${hostOf(first)},${hostOf(second)}`)
      return `${url}?target_session_attrs=read-write`
    },
  })
}

/** A write, with what came of it. */
async function write(session: string): Promise<string> {
  const { compiled_session } = plan
  const body = { session_id: session, holder_id: 'holder-1', compiled_session }
  const { status, problem } = await runtime.api().createSession({ body })
  return status === 201 ? '201' : String(problem.code)
}
const readiness = async () => (await runtime.fetch(`${TEST_ORIGIN}/readyz`)).status

/** Writes until one is accepted; what the others were answered. */
async function untilAccepted(name: string): Promise<Set<string>> {
  const refused = new Set<string>()
  for (let turn = 0; turn < 400; turn += 1) {
    const answer = await write(`${name}-${turn}`)
    if (answer === '201') return refused
    refused.add(answer)
    await sleep(25)
  }
  throw new Error(`nothing was accepted any more: ${[...refused].join()}`)
}

proves('scale.failover', async () => {
  await start()
  expect(await write('before')).toBe('201')
  await first.cut()
  // Whoever was answered otherwise was told to come again.
  expect([...(await untilAccepted('on-second'))].filter((code) => code !== 'UNAVAILABLE')).toEqual([])
  await second.cut()
  await first.heal()
  expect([...(await untilAccepted('on-first'))].filter((code) => code !== 'UNAVAILABLE')).toEqual([])
  const [row] = await runtime.sql`select count(*)::int as count from sessions`
  expect(row?.count).toBe(3)
  // Programs that need one connection for a moment find the host the same way.
  expect(await migrate(url)).toEqual([])
})

proves('scale.failover.refused-at-once', async () => {
  await start()
  expect(await readiness()).toBe(200)
  await Promise.all([first.cut(), second.cut()])
  const statuses = await Promise.all(Array.from({ length: 100 }, (_, at) => write(`lost-${at}`)))
  expect(new Set(statuses)).toEqual(new Set(['UNAVAILABLE']))
  expect(await readiness()).toBe(503)
  await second.heal()
  await untilAccepted('back')
  expect(await readiness()).toBe(200)
})

test('a PostgreSQL that turns read-only is left, and taken again when it is not', async () => {
  await start()
  const [row] = await runtime.sql`select current_database() as name`
  const database = runtime.sql(row!.name)
  await runtime.sql`alter database ${database} set default_transaction_read_only = on`
  await Promise.all([first.drop(), second.drop()])
  expect(await write('refused')).toBe('UNAVAILABLE')
  await sleep(700)
  expect(await write('refused-too')).toBe('UNAVAILABLE')
  // The test's own connection may be read-only, too.
  await runtime.sql.begin((tx) => tx`alter database ${database} reset default_transaction_read_only`, 'read write')
  await untilAccepted('again')
})
