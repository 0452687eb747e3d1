import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import { batchOf, capturesOf } from '../../support/data/captures.js'
import { rounds } from '../../support/data/rounds.js'
import { createTestDatabase } from '../../support/postgres/database.js'
import { buildOnce, countersign } from '../../support/process/command-line.js'
import { proves } from '../../support/proves.js'
import { expectStatus, LOOKUP, openSession, refund } from '../../support/runtime/governed-session.js'
import { Person } from '../../support/runtime/person.js'
import { type Api, createApi, TEST_ORIGIN } from '../../support/runtime/runtime.js'

/** How long the service is kept busy. COUNTERSIGN_SOAK_MINUTES=20 for a shorter look. */
const MINUTES = Number(process.env.COUNTERSIGN_SOAK_MINUTES ?? 120)
const SAMPLE_MS = 5_000
/** What the last quarter may have above the second: garbage is collected when it pays, not at once. */
const MAY_GROW_MB = 32
const AGENTS = 4
const MOST_TRIES = 10
/** Too slow to send a request on a busy machine, too many of them, or too busy. */
const COME_AGAIN = new Set([408, 429, 503])

/** What was done since the service started. */
type Done = Record<'turns' | 'sessions' | 'kills' | 'captures' | 'pages', number>
interface Sample extends Done {
  readonly residentMb: number
}

async function startService() {
  buildOnce()
  const database = await createTestDatabase()
  const command = countersign(['start', '--port', '0'], {
    DATABASE_URL: database.url,
    COUNTERSIGN_PUBLIC_URL: TEST_ORIGIN,
    COUNTERSIGN_SCRYPT_COST: '10',
    COUNTERSIGN_LOG_LEVEL: 'error',
    COUNTERSIGN_DEMO: 'off',
    // Its caches are full within minutes: what they still have room for is no leak.
    COUNTERSIGN_MEMORY_MB: '256',
    COUNTERSIGN_QUOTAS: JSON.stringify({
      scale: { write: 1e8, read: 1e8, evidence: 1e8, proposal: 1e8, capture: 1e8 },
    }),
    NODE_OPTIONS: '--max-old-space-size=512',
  })
  const sql = connect({ url: database.url }, { max: 1 })
  onTestFinished(async () => {
    command.child.kill('SIGTERM')
    await command.ended
    await sql.end({ timeout: 1 })
    await database.drop()
  })
  const [, origin = ''] = await command.says(/is running at (http\S+)/)
  const send: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    const { pathname, search } = new URL(request.url)
    // Like any client: a service on a busy machine may ask it to come again.
    for (let tries = 1; ; tries += 1) {
      const again = new Request(new URL(pathname + search, origin), request.clone())
      const response = await fetch(again, { signal: AbortSignal.timeout(60_000) })
      if (!COME_AGAIN.has(response.status) || tries === MOST_TRIES) return response
      await sleep(250 * tries)
    }
  }
  const person = new Person(send)
  const { body } = expectPerson(await person.signup())
  await sql`update tenants set verified_at = now(), quota = 'scale' where tenant_id = ${body.user.tenant_id}`
  return { command, person, api: createApi(send, body.api_key) }
}

const expectPerson = <T extends { status: number; text: string }>(reaction: T): T => {
  if (reaction.status >= 300) throw new Error(`answered ${reaction.status}: ${reaction.text}`)
  return reaction
}

/** Sessions one after another, of twenty turns each; one in five is killed, and has a call that nobody answers. */
async function work(api: Api, agent: string, done: Done, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const session = await openSession(api, { agent })
    const params = { session_id: session.sessionId }
    for (let turn = 0; turn < 20 && !isOver(); turn += 1) {
      await session.turn(turn % 7 === 6 ? [refund(900)] : [LOOKUP])
      done.turns += 1
      await sleep(10)
    }
    done.sessions += 1
    if (done.sessions % 5 === 0) {
      await session.decide([LOOKUP])
      expectStatus(await api.killSession({ params, body: {} }), 200)
      done.kills += 1
    } else expectStatus(await api.endSession({ params, body: { fence: session.fence } }), 200)
  }
}

async function capture(api: Api, done: Done, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const items = capturesOf('observed', `Look order ${done.captures} up`, [
      { name: 'lookup_order', args: { order_id: `A-${done.captures % 1_000}` }, result: { id: done.captures } },
    ]).map((item) => ({ ...item, capture_id: randomUUID() }))
    expectStatus(await api.ingestCaptures(batchOf(items)), 200)
    done.captures += items.length
    await sleep(200)
  }
}

async function look(person: Person, done: Done, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    for (const name of ['loadOverview', 'listSessions', 'listAgents', 'listCalls', 'listCaptures'] as const) {
      const reaction = await person.call(name)
      if (reaction.status === 401) expectPerson(await person.login())
      else expectPerson(reaction)
      done.pages += 1
    }
    await sleep(2_000)
  }
}

async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_024)
}

const median = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0

/** The samples in four parts of equal length, each with the memory in it and what was done in it. */
function quartersOf(samples: readonly Sample[]) {
  const length = Math.floor(samples.length / 4)
  return [0, 1, 2, 3].map((quarter) => {
    const own = samples.slice(quarter * length, (quarter + 1) * length)
    const mb = own.map((sample) => sample.residentMb)
    const during = (what: keyof Done) => (own.at(-1)?.[what] ?? 0) - (samples[quarter * length - 1]?.[what] ?? 0)
    return {
      ...{ median_mb: median(mb), least_mb: Math.min(...mb), most_mb: Math.max(...mb) },
      ...{ turns: during('turns'), sessions: during('sessions'), kills: during('kills') },
      ...{ captures: during('captures'), pages: during('pages') },
    }
  })
}

proves(
  'scale.soak',
  'a service that is busy for hours needs no more memory in the end',
  async () => {
    const { command, person, api } = await startService()
    const done: Done = { turns: 0, sessions: 0, kills: 0, captures: 0, pages: 0 }
    const samples: Sample[] = []
    const endMs = performance.now() + MINUTES * 60_000
    let failed = false
    const isOver = () => failed || performance.now() > endMs
    const agents = Array.from({ length: AGENTS }, (_, agent) => work(api, `agent-${agent}`, done, isOver))
    const working = Promise.all([...agents, capture(api, done, isOver), look(person, done, isOver)]).finally(() => {
      failed = true
    })
    working.catch(() => {})
    while (!isOver()) {
      samples.push({ ...done, residentMb: await residentMb(command.pid) })
      await sleep(SAMPLE_MS)
    }
    await working
    const quarters = quartersOf(samples)
    console.table(quarters)
    expect(quarters[3]?.median_mb).toBeLessThanOrEqual((quarters[1]?.median_mb ?? 0) + MAY_GROW_MB)
    expect(quarters.every(({ turns, captures, pages }) => turns > 0 && captures > 0 && pages > 0)).toBe(true)
  },
  { skip: rounds(0, 1) === 0 || process.platform !== 'linux', timeout: (MINUTES + 15) * 60_000 },
)
