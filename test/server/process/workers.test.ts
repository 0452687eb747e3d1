import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { rounds } from '../../support/data/rounds.js'
import { createTestDatabase } from '../../support/postgres/database.js'
import { buildOnce, type Command, countersign } from '../../support/process/command-line.js'
import { proves } from '../../support/proves.js'

const database = await createTestDatabase()
afterAll(() => database.drop())
beforeAll(() => buildOnce())

function start(env: Record<string, string> = {}): Command {
  const command = countersign(['start', '--port', '0'], {
    DATABASE_URL: database.url,
    COUNTERSIGN_WORKERS: '2',
    COUNTERSIGN_DEMO: 'off',
    ...env,
  })
  onTestFinished(async () => {
    command.child.kill('SIGKILL')
    await command.ended
  })
  return command
}

/** The processes that it started. */
const childrenOf = async ({ pid }: Command): Promise<number[]> =>
  (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ').filter(Boolean).map(Number)

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** On a connection of its own, so that the workers take turns. */
const get = (url: string) => fetch(url, { headers: { connection: 'close' } })

/** Each has its own share of the pool: 10 of 20 connections, of which a quarter is for reads. */
const workersThatAnswer = async (url: string) => {
  const page = await (await get(`${url}/metrics`)).text()
  return Number(/^countersign_pool_size (\d+)$/m.exec(page)?.[1] ?? 0) / 7
}

/** How many requests of a route were answered, as `/metrics` says. */
const answered = async (url: string, route: string) => {
  const page = await (await get(`${url}/metrics`)).text()
  return Number(new RegExp(`countersign_requests_total{route="${route}",status="200"} (\\d+)`).exec(page)?.[1] ?? 0)
}

const onLinux = process.platform === 'linux'

proves(
  ['workers.one-port', 'workers.metrics', 'scale.drain'],
  'several workers share a port and count together; one that dies is replaced, and all drain and end together',
  async () => {
    const command = start({ COUNTERSIGN_DRAIN_SECONDS: '2' })
    const [, url = ''] = await command.says(/is running at (http\S+)/)
    const allListen = async () => {
      await expect.poll(async () => (await childrenOf(command)).length).toBe(2)
      await expect.poll(() => workersThatAnswer(url)).toBe(2)
    }
    await allListen()
    const before = await answered(url, '/healthz')
    for (let asked = 0; asked < 12; asked++) expect((await get(`${url}/healthz`)).status).toBe(200)
    // Whoever answers knows of all of them.
    for (let asked = 0; asked < 4; asked++) expect(await answered(url, '/healthz')).toBe(before + 12)

    const [victim = 0] = await childrenOf(command)
    process.kill(victim, 'SIGKILL')
    await command.says(/a worker ended; another takes its place/)
    // What was handed to the one that died is lost; what comes later is answered.
    await expect.poll(async () => (await get(`${url}/healthz`).catch(() => null))?.status).toBe(200)
    expect(await answered(url, '/healthz')).toBeGreaterThan(before + 12)
    await allListen()
    expect(await childrenOf(command)).not.toContain(victim)
    expect(await answered(url, '/healthz')).toBeGreaterThan(before + 12)

    const workers = await childrenOf(command)
    command.child.kill('SIGTERM')
    let readiness = 200
    while (readiness === 200) readiness = (await get(`${url}/readyz`)).status
    expect(readiness).toBe(503)
    expect(await command.ended).toBe(0)
    expect(command.output()).toContain('serving for another 2 s')
    expect(workers.filter(isAlive)).toEqual([])
  },
  { skip: !onLinux },
)

test.runIf(onLinux && rounds(0, 1) === 1)('workers end when the process that started them is gone', async () => {
  const command = start()
  await command.says(/is running at/)
  await expect.poll(async () => (await childrenOf(command)).length).toBe(2)
  const workers = await childrenOf(command)
  command.child.kill('SIGKILL')
  await expect.poll(() => workers.filter(isAlive)).toEqual([])
})

test('a worker that cannot start says why, and the command ends', async () => {
  const command = start({ COUNTERSIGN_HOST: '203.0.113.1' })
  expect(await command.ended).toBe(1)
  expect(command.output()).toContain('is not an address of this machine')
  expect(command.output()).toContain('the first worker ended before it was ready')
})
