import { setTimeout } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { type Job, runJob, type SharedJob } from '../../../packages/server/src/process/jobs/job.js'
import { JOBS } from '../../../packages/server/src/process/jobs/jobs.js'
import { retentionJob } from '../../../packages/server/src/process/jobs/retentions.js'
import { signHeads } from '../../../packages/server/src/process/jobs/sign-heads.js'
import { watchRatesJob } from '../../../packages/server/src/process/jobs/watch-rates.js'
import { countDecisions } from '../../../packages/server/src/store/dashboard/decision-counts.js'
import { takeApprovals } from '../../../packages/server/src/store/governance/plan-use.js'
import { deleteUnusedPlans } from '../../../packages/server/src/store/governance/plans.js'
import { listLapsedOffers } from '../../../packages/server/src/store/workflows/handoffs.js'
import { expireOffers } from '../../../packages/server/src/workflows/expire-offers.js'
import { rowsRead } from '../../support/postgres/rows-read.js'
import { proves } from '../../support/proves.js'
import { LOOKUP, openSession } from '../../support/runtime/governed-session.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'
import { offer, openWorkflow } from '../../support/runtime/workflow.js'

/** A tenant leaves behind more than a statement can look at in its time: jobs for all tenants go on. */
const { runtime } = await withRuntime()
const api = runtime.api()
const { parts } = runtime.instances[0]
const { database } = parts

type Piece = (tx: Parameters<typeof rowsRead>[0]) => Promise<boolean>

/** Rows that each piece of some work reads of the events, until nothing is left. */
async function piecesOf(run: Piece): Promise<number[]> {
  const read: number[] = []
  for (let more = true; more; ) {
    const work = async (tx: Parameters<Piece>[0]) => {
      more = await run(tx)
    }
    if (read.length > 100) throw new Error('there is no end to the pieces')
    read.push(await database.transaction('jobs', (tx) => rowsRead(tx, 'session_events', () => work(tx))))
  }
  return read
}

/** Some hours ago a session made the same proposal so often, `apartUs` microseconds after each other. */
async function proposeOften(sessionId: string, { times, apartUs }: { times: number; apartUs: number }): Promise<void> {
  await (await openSession(api, { session_id: sessionId, agent: sessionId })).decide([LOOKUP])
  await runtime.sql`update session_events set at = at - interval '5 hours' where session_id = ${sessionId}`
  await runtime.sql`
    insert into session_events
    select tenant_id, session_id, seq + n, type, at + n * ${apartUs}::int * interval '1 microsecond', body, prev_hash, hash,
      request_id || n, proposal_id || n, outcome, record
    from session_events, generate_series(1, ${times}::int) n
    where session_id = ${sessionId} and request_id is not null`
  // As PostgreSQL does by itself, within a minute.
  await runtime.sql`analyze session_events`
}

/** As if nothing had been counted yet, and a session had not been. */
async function forgetAll(sessionId: string): Promise<void> {
  await runtime.sql`update decision_counts_until set until = '2000-01-01'`
  await runtime.sql`delete from decision_counts`
  await runtime.sql`delete from session_events where session_id = ${sessionId}`
}

const counted = async (agent: string) => {
  const rows = await runtime.sql<{ calls: number }[]>`
    select sum(calls)::int as calls from decision_counts where agent = ${agent} group by grain order by grain`
  return rows.map(({ calls }) => calls)
}

describe('decisions of a long time are counted', () => {
  proves('limit.jobs.pieces', 'some thousand at once, and each of them once', async () => {
    await proposeOften('often', { times: 30_000, apartUs: 90 })
    const pieces = await piecesOf(countDecisions)
    expect(Math.max(...pieces)).toBeLessThan(25_000)
    expect(pieces.length).toBeGreaterThan(5)
    expect(await counted('often')).toEqual([30_001, 30_001])
    expect(await piecesOf(countDecisions)).toHaveLength(1)
  })

  proves('limit.jobs.pieces', 'also where more than a piece holds came in one moment', async () => {
    await forgetAll('often')
    await proposeOften('moment', { times: 6_000, apartUs: 0 })
    expect((await piecesOf(countDecisions)).length).toBeLessThan(9)
    expect(await counted('moment')).toEqual([6_001, 6_001])
  })

  proves('limit.jobs.pieces', 'some megabytes at once', async () => {
    await forgetAll('moment')
    await proposeOften('large', { times: 6, apartUs: 50_000 })
    await runtime.sql`
      update session_events set record = '{"pad":"' || repeat('x', 9000000) || '",' || substr(record, 2)
      where session_id = 'large' and request_id is not null`
    // Two of nine megabytes are more than sixteen.
    expect((await piecesOf(countDecisions)).length).toBeGreaterThanOrEqual(7)
    expect(await counted('large')).toEqual([7, 7])
  })
})

proves('limit.jobs.pieces', 'ledgers of a long time are signed some thousand events at once', async () => {
  await proposeOften('moved', { times: 40_000, apartUs: 10_000 })
  await runtime.sql`update ledger_signing set until = now() - interval '6 hours'`
  const signer = parts.ledgerSigner
  if (signer === null) throw new Error('the service has no key to sign with')
  const pieces = await piecesOf((tx) => signHeads(tx, parts, signer))
  expect(Math.max(...pieces)).toBeLessThan(20_000)
  expect(pieces.length).toBeGreaterThan(5)
  const [last] = await runtime.sql`select max(seq) as seq from session_events where session_id = 'moved'`
  const [head] = await runtime.sql`select seq from signed_heads where id = 'moved'`
  expect(head).toEqual(last)
  const [progress] = await runtime.sql`select until > now() - interval '1 minute' as is_now from ledger_signing`
  expect(progress).toEqual({ isNow: true })
})

proves(
  'limit.fair.signing',
  'while one tenant moves more ledgers than are signed, that of another does not wait',
  async () => {
    const signer = parts.ledgerSigner
    if (signer === null) throw new Error('the service has no key to sign with')
    await proposeOften('flooding', { times: 20_000, apartUs: 1_000 })
    await runtime.sql`update session_events set at = at + interval '5 hours' - interval '30 seconds' where session_id = 'flooding'`
    await runtime.sql`update ledger_signing set until = now() - interval '1 minute', last_tenant = '~'`
    const other = await runtime.createTenant()
    const single = await openSession(runtime.api(other.key))
    const isMore = await database.transaction('jobs', (tx) => signHeads(tx, parts, signer))
    expect(isMore).toBe(true)
    const signed = await runtime.sql`select seq from signed_heads where id = ${single.sessionId}`
    expect(signed).toEqual([{ seq: 1 }])
    await piecesOf((tx) => signHeads(tx, parts, signer))
  },
)

describe('a job with more to do than one piece', () => {
  const setTimes = (name: string) => runtime.sql`select 1 from jobs where name like ${`${name}:%`}`
  const inPieces = (name: string, run: (piece: number) => boolean): Job => {
    let piece = 0
    return {
      name,
      everySeconds: 3_600,
      run: async (tx) => {
        piece += 1
        await tx`insert into jobs (name) values (${`${name}:${piece}`})`
        return run(piece)
      },
    }
  }

  proves('limit.jobs.pieces', 'keeps the pieces that it did when one fails, and waits for its time', async () => {
    const job = inPieces('failing', (piece) => {
      if (piece === 3) throw new Error('no')
      return piece < 5
    })
    await expect(runJob(job, parts)).rejects.toThrow('no')
    expect(await setTimes('failing')).toHaveLength(2)
    expect(await runJob(job, parts)).toBe(false)
    await runtime.sql`update jobs set last_run_at = last_run_at - interval '2 hours' where name = 'failing'`
    expect(await runJob(job, parts)).toBe(true)
    expect(await setTimes('failing')).toHaveLength(4)
    expect(await runJob(job, parts)).toBe(false)
  })

  proves('limit.jobs.pieces', 'lets the others have their turn, and goes on in the next round', async () => {
    const job = inPieces('endless', () => true)
    expect(await runJob(job, parts)).toBe(true)
    const first = (await setTimes('endless')).length
    expect(first).toBeGreaterThan(1)
    expect(await runJob(job, parts)).toBe(true)
    expect((await setTimes('endless')).length).toBeGreaterThan(first)
  })

  proves(
    'limit.jobs.pieces',
    'lets the others have their turn also where instances share it and pieces take long',
    async () => {
      let pieces = 0
      const job: SharedJob = {
        name: 'slow',
        shared: true,
        run: async () => {
          pieces += 1
          await setTimeout(900)
          return true
        },
      }
      expect(await runJob(job, parts)).toBe(true)
      expect(pieces).toBeLessThan(5)
    },
  )

  proves('limit.jobs.pieces', 'removes records that may be large 50 at once', async () => {
    const limits: number[] = []
    let left = 110
    const job = retentionJob({
      name: 'large',
      large: true,
      remove: async (_, { limit }) => {
        limits.push(limit)
        const removed = Math.min(limit, left)
        left -= removed
        return removed
      },
    })
    expect(await database.transaction('jobs', (tx) => job.run(tx, parts))).toBe(false)
    expect(limits).toEqual([50, 50, 50])
  })
})

proves('limit.jobs.pieces', 'offers that nobody took expire in turn between tenants', async () => {
  const other = runtime.api((await runtime.createTenant()).key)
  for (let at = 0; at < 3; at++) await offer(await openWorkflow(api))
  const { handoff_id } = await offer(await openWorkflow(other))
  await runtime.sql`update handoffs set expires_at = now() - interval '1 hour' where handoff_id <> ${handoff_id}`
  await runtime.sql`update handoffs set expires_at = now() - interval '1 minute' where handoff_id = ${handoff_id}`
  const offers = await listLapsedOffers(runtime.sql, 2)
  expect(offers.map(({ handoffId }) => handoffId)).toContain(handoff_id)
})

proves('limit.jobs.pieces', 'of the offers of a tenant that left many few are looked at', async () => {
  const OFFERS = 20_000
  const { handoff_id } = await offer(await openWorkflow(api))
  await runtime.sql`
    insert into handoffs (tenant_id, workflow_id, handoff_id, from_session, from_role, to_role, state, labels, body_hash,
      offered_at, expires_at)
    select tenant_id, workflow_id, handoff_id || n, from_session, from_role, to_role, state, labels, body_hash, offered_at,
      now() - interval '1 hour' + n * interval '1 second'
    from handoffs, generate_series(1, ${OFFERS}::int) n where handoff_id = ${handoff_id}`
  await runtime.sql`analyze handoffs`
  const read = await database.transaction('jobs', (tx) => rowsRead(tx, 'handoffs', () => listLapsedOffers(tx, 50)))
  expect(read).toBeLessThan(500)
  await runtime.sql`delete from handoffs`
})

proves('limit.jobs.pieces', 'of a tenant whose offer could not be written as expired the others wait', async () => {
  const broken = await runtime.createTenant()
  const sound = await runtime.createTenant()
  await runtime.sql`delete from handoffs`
  for (const { key } of [broken, sound])
    for (let at = 0; at < 3; at++) await offer(await openWorkflow(runtime.api(key)))
  await runtime.sql`update handoffs set expires_at = now() - interval '1 hour'`
  let tries = 0
  const transaction: typeof database.transaction = async (tenantId, ...rest) => {
    if (tenantId !== broken.tenantId) return database.transaction(tenantId, ...rest)
    tries += 1
    throw new Error('no')
  }
  expect(await expireOffers({ ...parts, database: { ...database, transaction } })).toBe(3)
  expect(tries).toBe(1)
  expect(await expireOffers(parts)).toBe(3)
})

test('jobs that work on what is of one tenant keep no retention waiting', () => {
  const own = JOBS.filter(({ ownLane }) => ownLane).map(({ name }) => name)
  expect(own).toEqual([
    'sign-heads',
    'watch-rates',
    'expire-offers',
    'expire-questions',
    'send-notices',
    'send-webhooks',
    'learning',
    'runs',
  ])
})

describe('plans that nothing refers to are removed', () => {
  const APPROVALS = 20_000
  /** Plans that were not used for so long, 60 of them, and approvals and drafts of one that stays. */
  const leavePlans = async () => {
    await runtime.sql`
      insert into plans (tenant_id, compiled_hash, compiled_session, permanent, used_at)
      select ${runtime.tenantId}, 'left-' || n, '{}', n = 0, now() - interval '91 days' from generate_series(0, 60) n`
    await runtime.sql`
      insert into approved_plans (tenant_id, agent, environment, compiled_hash)
      select ${runtime.tenantId}, 'in-force-' || n, 'staging', 'left-0' from generate_series(1, ${APPROVALS}::int) n`
    await runtime.sql`
      insert into governance_plans (tenant_id, plan_id, agent, environment, state, compiled_hash, origin, files, contracts,
        created_at)
      select ${runtime.tenantId}, 'in-force-' || n, 'in-force-' || n, 'staging', 'approved', 'left-0', 'submitted', '[]', 0,
        now()
      from generate_series(1, ${APPROVALS}::int) n`
    await runtime.sql`analyze approved_plans, governance_plans, plans`
  }

  proves('limit.jobs.pieces', 'without reading the approvals and drafts of a tenant that has many', async () => {
    await leavePlans()
    const read: number[] = []
    const removed = await database.transaction('jobs', async (tx) => {
      let count = 0
      const remove = async () => {
        count = (await deleteUnusedPlans(tx, 90, 50)).removed
      }
      const drafts = () => rowsRead(tx, 'governance_plans', remove).then((rows) => void read.push(rows))
      read.push(await rowsRead(tx, 'approved_plans', drafts))
      return count
    })
    expect(removed).toBe(50)
    expect(Math.max(...read)).toBeLessThan(1_000)
    await runtime.sql`delete from approved_plans where agent like 'in-force-%'`
    await runtime.sql`delete from governance_plans where agent like 'in-force-%'`
  })

  proves('limit.jobs.pieces', 'and those that are still referred to are not looked at every time', async () => {
    await runtime.sql`
      insert into plans (tenant_id, compiled_hash, compiled_session, used_at)
      select ${runtime.tenantId}, 'drafted-' || n, '{}', now() - interval '92 days' from generate_series(1, 120) n`
    await runtime.sql`
      insert into governance_plans (tenant_id, plan_id, agent, environment, state, compiled_hash, origin, files, contracts,
        created_at)
      select ${runtime.tenantId}, 'drafted-' || n, 'drafted', 'staging', 'draft', 'drafted-' || n, 'submitted', '[]', 0, now()
      from generate_series(1, 120) n`
    const looks: { seen: number; removed: number }[] = []
    for (let seen = 50; seen === 50; seen = looks.at(-1)?.seen ?? 0)
      looks.push(await database.transaction('jobs', (tx) => deleteUnusedPlans(tx, 90, 50)))
    const sum = (of: 'seen' | 'removed') => looks.reduce((all, look) => all + look[of], 0)
    // Ten are left of the sixty before.
    expect([sum('seen'), sum('removed')]).toEqual([130, 10])
    expect(await database.transaction('jobs', (tx) => deleteUnusedPlans(tx, 90, 50))).toEqual({ seen: 0, removed: 0 })
    const [kept] = await runtime.sql`select count(*)::int as plans from plans where compiled_hash like 'drafted-%'`
    expect(kept).toEqual({ plans: 120 })
    await runtime.sql`delete from governance_plans where agent = 'drafted'`
  })

  proves('limit.jobs.pieces', 'and every row that refers to one that may be removed is found by an index', async () => {
    // Tenants and their people are never removed.
    const unindexed = await runtime.sql`
      select conrelid::regclass::text as "table", conname from pg_constraint c
      where contype = 'f' and confrelid not in ('tenants'::regclass, 'users'::regclass) and not exists (
        select 1 from pg_index i
        where i.indrelid = c.conrelid and i.indpred is null and i.indisvalid
          and (i.indkey::int2[])[0:cardinality(c.conkey) - 1] @> c.conkey
      )`
    expect(unindexed).toEqual([])
  })
})

describe('plans in force that promise rates are taken', () => {
  /** So many approvals of a plan, watched some time ago. */
  const approve = (agents: string, of: { count: number; ago: string; promises: boolean | null }) => runtime.sql`
    insert into approved_plans (tenant_id, agent, environment, compiled_hash, promises_rates, rates_watched_at)
    select ${runtime.tenantId}, ${agents} || n, 'staging', 'watched', ${of.promises}, now() - ${of.ago}::text::interval
    from generate_series(1, ${of.count}::int) n`

  proves(
    'limit.fair.watched-rates',
    'by their turn, without reading those that promise none or were seen',
    async () => {
      await runtime.sql`
      insert into plans (tenant_id, compiled_hash, compiled_session, permanent)
      values (${runtime.tenantId}, 'watched', '{}', true)`
      await approve('plain-', { count: 10_000, ago: '1 day', promises: false })
      await approve('seen-', { count: 10_000, ago: '1 minute', promises: true })
      await approve('due-', { count: 12, ago: '1 hour', promises: true })
      await approve('unknown-', { count: 1, ago: '2 hours', promises: null })
      const taken: string[] = []
      const take = async (tx: Parameters<Piece>[0]) => {
        for (const { agent } of await takeApprovals(tx, 600, 10)) taken.push(agent)
      }
      const read = await database.transaction('jobs', async (tx) => {
        const rows: number[] = []
        for (let turn = 0; turn < 3; turn++) rows.push(await rowsRead(tx, 'approved_plans', () => take(tx)))
        return rows
      })
      expect(taken.slice(0, 10)).toContain('unknown-1')
      expect(taken.sort()).toEqual(['unknown-1', ...Array.from({ length: 12 }, (_, at) => `due-${at + 1}`)].sort())
      expect(Math.max(...read)).toBeLessThan(100)
    },
  )

  proves('limit.fair.watched-rates', 'one that turns out to promise none only once', async () => {
    await approve('once-', { count: 1, ago: '1 hour', promises: null })
    await runJob(watchRatesJob, parts)
    const rows = await runtime.sql`select promises_rates from approved_plans where agent = 'once-1'`
    expect(rows).toEqual([{ promisesRates: false }])
  })

  proves('limit.fair.watched-rates', 'and those of a tenant that takes long are put off', async () => {
    const [other] = await Promise.all([runtime.createTenant(), runtime.sql`delete from approved_plans`])
    await approve('slow-', { count: 30, ago: '1 day', promises: true })
    await runtime.sql`
      insert into plans (tenant_id, compiled_hash, compiled_session, permanent) values (${other.tenantId}, 'watched', '{}', true)`
    await runtime.sql`
      insert into approved_plans (tenant_id, agent, environment, compiled_hash, promises_rates, rates_watched_at)
      values (${other.tenantId}, 'quick', 'staging', 'watched', true, now() - interval '1 hour')`
    // Each look at a plan of the tenant takes two seconds, as where its pages have all of its connections.
    const read: typeof database.read = async (tenantId, fn) => {
      if (tenantId === runtime.tenantId) await setTimeout(2_100)
      return database.read(tenantId, fn)
    }
    for (let round = 0; round < 4; round++) await runJob(watchRatesJob, { ...parts, database: { ...database, read } })
    const rows = await runtime.sql<{ agent: string; ago: number }[]>`
      select agent, extract(epoch from now() - rates_watched_at)::int as ago from approved_plans order by ago desc`
    const putOff = rows.filter(({ ago }) => ago >= 540 && ago < 600)
    expect(rows.find(({ agent }) => agent === 'quick')?.ago).toBeLessThan(60)
    expect(putOff.length).toBeGreaterThanOrEqual(28)
  })
})
