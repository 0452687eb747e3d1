import { setTimeout as sleep } from 'node:timers/promises'
import type { Sql } from '../../../packages/server/src/postgres/sql.js'
import { seededRandom } from '../data/random.js'
import { expectStatus } from '../runtime/governed-session.js'
import type { Person } from '../runtime/person.js'
import type { Api } from '../runtime/runtime.js'
import { moveTimes } from './move-times.js'
import { reviewPlans } from './reviews.js'
import { MAIN_STORY, observe, STORIES, type Story, workflowStory } from './stories.js'

/** Whom the seeder acts as, and where. */
export interface Volume {
  readonly api: Api
  /** Signed in to the tenant of the key. */
  readonly person: Person
  /** The time so many hours before now. */
  ago(hours: number): string
  /** Lets what waits be learned and judged. */
  settle(): Promise<void>
}

export interface VolumeOptions extends Omit<Volume, 'ago'> {
  readonly sql: Sql
  readonly tenantId: string
  readonly sessions: number
  readonly now?: Date
  /** Marks the ids, so that a second time makes further sessions. */
  readonly prefix?: string
}

export interface Seeded {
  /** With a step, a block and an approval, and still running. */
  readonly mainSession: string
  readonly sessions: number
}

const DAYS = 30
const HOUR_MS = 3_600_000
const AT_ONCE = 6

/**
 * A month of work of several agents, through the real service: governed sessions of every end, workflows, observed
 * conversations, drafts, decisions and backtests. Then the times are moved in the database, back over thirty days.
 */
export async function seedVolume(options: VolumeOptions): Promise<Seeded> {
  const { now = new Date(), sessions: count, prefix = 'ses', sql, tenantId, person, settle } = options
  const api = patient(options.api)
  const ago = (hours: number) => new Date(now.getTime() - hours * HOUR_MS).toISOString()
  const volume: Volume = { api, person, settle, ago }
  const random = seededRandom(20_261_116)
  const ages = new Map<string, number>()
  const mainSession = `${prefix}_7f3a91c2d4`
  const jobs = [() => MAIN_STORY(volume, mainSession)]
  for (let at = 0; at < count - 1; at += 1) {
    const story = at < STORIES.length ? STORIES[at]?.story : byWeight(random())
    const id = `${prefix}_${Math.floor(random() * 2 ** 40)
      .toString(16)
      .padStart(10, '0')}`
    // More lately than long ago, and one of each kind within the last day.
    const hours = at < STORIES.length ? 1 + at * 1.5 : DAYS * 24 * random() ** 1.6
    // In whole milliseconds, as the service has them: a capture is found by the time of its proposal.
    ages.set(id, Math.round(hours * HOUR_MS))
    if (story !== undefined) jobs.push(() => story(volume, id))
  }
  ages.set(mainSession, 0.4 * HOUR_MS)
  await inParallel(jobs, AT_ONCE)
  const workflows = new Map<string, number>()
  for (let at = 0; at < Math.max(3, count / 40); at += 1) {
    const id = `case-${prefix === 'ses' ? '' : `${prefix}-`}${1_042 - at}`
    const age = (3 + at * 61) * HOUR_MS
    workflows.set(id, age)
    for (const session of await workflowStory(volume, id, at)) ages.set(session, age)
  }
  await observe(volume, 'newsletter', 24)
  await settle()
  const plans = await reviewPlans(volume)
  await manageKeys(person)
  await moveTimes(sql, { tenantId, sessions: ages, workflows, subjects: plans })
  await sql`
    update session_heads set lease_until = clock_timestamp() + interval '10 min'
    where tenant_id = ${tenantId} and session_id = ${mainSession}`
  return { mainSession, sessions: ages.size }
}

/** A service that is asked for much at once may say that it is busy: then the request is made again. */
function patient(api: Api): Api {
  const again = async (ask: () => Promise<{ status: number }>) => {
    for (let tries = 1; ; tries += 1) {
      const answer = await ask()
      if ((answer.status !== 503 && answer.status !== 429) || tries === MOST_TRIES) return answer
      await sleep(100 * tries)
    }
  }
  const asked = Object.entries(api).map(([name, ask]) => [name, (call: never) => again(() => ask(call))])
  return Object.fromEntries(asked) as Api
}

const MOST_TRIES = 8

function byWeight(share: number): Story | undefined {
  let left = share * STORIES.reduce((sum, { weight }) => sum + weight, 0)
  return STORIES.find(({ weight }) => {
    left -= weight
    return left < 0
  })?.story
}

async function inParallel(jobs: readonly (() => Promise<unknown>)[], atOnce: number): Promise<void> {
  const waiting = [...jobs]
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) await job()
    }),
  )
}

async function manageKeys(person: Person): Promise<void> {
  const { body } = await person.call('listKeys')
  if (body.keys.some(({ name }) => name === 'staging, nightly tests')) return
  const nightly = {
    name: 'staging, nightly tests',
    access: 'read',
    agent: 'support',
    environment: 'staging',
    expires_at: new Date(Date.now() + 90 * 24 * HOUR_MS).toISOString(),
  } as const
  expectStatus(asAnswer(await person.call('createKey', { body: nightly })), 201)
  const old = await person.call('createKey', { body: { name: 'old laptop' } })
  await person.call('revokeKey', { params: { key_id: old.body.key.key_id } })
}

const asAnswer = <Body>({ status, headers, body }: { status: number; headers: Headers; body: Body }) => ({
  status,
  headers,
  body,
  problem: body as Record<string, unknown>,
})
