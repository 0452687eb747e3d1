import { afterAll, describe, expect, test } from 'vitest'
import { TaskFailed } from '../../../packages/server/src/base/work/thread-pool.js'
import { forgetSession } from '../../../packages/server/src/captures/forget-session.js'
import { learnCaptures } from '../../../packages/server/src/captures/learn-captures.js'
import { createTaskThread, type TaskThread } from '../../../packages/server/src/context/tasks.js'
import { JOBS } from '../../../packages/server/src/process/jobs/jobs.js'
import { startJobs } from '../../../packages/server/src/process/jobs/start-jobs.js'
import { claimAgent } from '../../../packages/server/src/store/captures/unlearned.js'
import { batchOf, capturesOf, mailConversation } from '../../support/data/captures.js'
import { hostileBody } from '../../support/data/hostile-captures.js'
import { proves } from '../../support/proves.js'
import { expectStatus, LOOKUP, openSession } from '../../support/runtime/governed-session.js'
import { planOf } from '../../support/runtime/plans.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

/** Runs every task, unless the test makes one fail or does something meanwhile. */
const real = createTaskThread()
let before: (name: string, input: unknown, owner: string) => Promise<void> | void = () => {}
const thread: TaskThread = {
  run: async (tenantId, name, input) => {
    await before(name, input, tenantId)
    return real.run(tenantId, name, input)
  },
  warm: () => {},
  close: () => real.close(),
}
afterAll(() => real.close())

const { runtime, api } = await withRuntime({ parts: { thread } })
const [{ parts }] = runtime.instances

const waiting = async (agent: string) => {
  const [row] = await runtime.sql<{ captures: number }[]>`
    select coalesce(sum(captures), 0)::int as captures from unlearned_captures where agent = ${agent}`
  return row?.captures ?? 0
}
const samplesOf = async (agent: string) => {
  const rows = await runtime.sql<{ toolName: string; samples: number }[]>`
    select tool_name, samples::int from learned_tools where agent = ${agent} order by tool_name`
  return Object.fromEntries(rows.map(({ toolName, samples }) => [toolName, samples]))
}
const learnAll = async () => {
  while ((await learnCaptures(parts)) > 0) {
    // Until nothing is left.
  }
}

proves('background.off-the-request-thread', async () => {
  let calls = 0
  for (let body = 0; body < 12; body++) {
    const hostile = hostileBody('hostile')
    expectStatus(await api.ingestCaptures(batchOf(hostile.captures)), 200)
    calls += hostile.calls
  }
  const other = await runtime.createTenant()
  const jobs = startJobs(
    parts,
    [...JOBS].filter(({ name }) => name === 'learning'),
    10,
  )
  let killed = 0
  while ((await waiting('hostile')) > 0) {
    const session = await openSession(runtime.api(other.key))
    await session.turn([LOOKUP])
    expectStatus(await session.api.killSession({ params: { session_id: session.sessionId }, body: {} }), 200)
    killed++
  }
  await jobs.close()
  expect(killed).toBeGreaterThan(5)
  expect(await samplesOf('hostile')).toEqual({ write_down: calls })
})

proves('background.learning-line', async () => {
  const busy = await runtime.createTenant()
  expectStatus(await runtime.api(busy.key).ingestCaptures(batchOf(mailConversation('busy', 'Ann'))), 200)
  expectStatus(await api.ingestCaptures(batchOf(mailConversation('patient', 'Ann'))), 200)
  const owners = new Set<string>()
  before = (name, _input, owner) => {
    if (name === 'learnedTools' || name === 'learnBatch') owners.add(owner)
  }
  await learnAll()
  before = () => {}
  // What a tenant brings besides, such as fixtures that take seconds, stands in another line.
  expect([...owners]).toEqual(['jobs'])
  expect(await waiting('patient')).toBe(0)
})

describe('a capture that cannot be learned from', () => {
  const isPoison = (input: unknown) => JSON.stringify(input).includes('poison')
  const tried: number[] = []
  const failing = (name: string, input: unknown) => {
    if (name !== 'learnBatch' || !isPoison(input)) return
    tried.push((input as { captures: unknown[] }).captures.length)
    throw new TaskFailed('learnBatch', 'it took longer than 10 seconds')
  }

  proves('background.set-aside', async () => {
    const captures = ['Ann', 'Bob', 'poison', 'Dan'].flatMap((name) => mailConversation('unlucky', name))
    const poisoned = captures.filter((capture) => isPoison(capture)).map(({ capture_id }) => capture_id)
    expectStatus(await api.ingestCaptures(batchOf(captures.slice(0, 6))), 200)
    expectStatus(await api.ingestCaptures(batchOf(captures.slice(6))), 200)
    before = failing
    await learnAll()
    expect(await samplesOf('unlucky')).toEqual({ find_person: 3, send_mail: 3 })
    const aside = await runtime.sql<{ captureId: string; attempts: number; error: string }[]>`
      select capture_id, attempts, error from set_aside_captures where agent = 'unlucky'`
    expect(aside.map(({ captureId }) => captureId).sort()).toEqual(poisoned.sort())
    for (const { attempts, error } of aside) {
      expect([attempts, error]).toEqual([3, 'learnBatch failed: it took longer than 10 seconds'])
    }
    expect(await waiting('unlucky')).toBe(0)
    // Together, then its own batch alone, then each capture alone.
    const afterwards = tried.length
    await learnAll()
    expect(tried.length).toBe(afterwards)
    const lines = runtime.logLines.filter((line) => line.includes('was set aside'))
    expect(lines.map((line) => JSON.parse(line))).toMatchObject(
      poisoned.map(() => ({ level: 'warn', tenant_id: runtime.tenantId, agent: 'unlucky', attempts: 3 })),
    )
  })

  test('and that ended the process each time is set aside as well', async () => {
    before = () => {}
    expectStatus(await api.ingestCaptures(batchOf(mailConversation('crashing', 'Ann').slice(0, 1))), 200)
    await runtime.sql`update unlearned_captures set attempts = 3, error = 'it was begun' where agent = 'crashing'`
    await learnAll()
    expect(await samplesOf('crashing')).toEqual({})
    const [aside] = await runtime.sql`select attempts from set_aside_captures where agent = 'crashing'`
    expect(aside?.attempts).toBe(3)
  })
})

describe('a capture that tells of many tools', () => {
  const TOOLS = Array.from({ length: 24 }, (_, at) => `tool_${at}`)
  const PADDED = 500_000
  const captureOf = (agent: string) => {
    const [item] = capturesOf(agent, 'do it all', [{ name: 'tool_0', args: {} }])
    const tool_calls = TOOLS.map((name, at) => ({ id: `call_${at}`, name, arguments: '{"at":1}' }))
    return { ...item, request: { tools: [] }, response: { ...item?.response, tool_calls }, flows: undefined }
  }
  /** Summaries as long as they may be: JSON may be followed by spaces. */
  const pad = (agent: string) =>
    runtime.sql`
      update learned_tools set summary = rpad(summary::text, ${PADDED})::json where agent = ${agent}`
  const learnOnce = async (agent: string) => {
    expectStatus(await api.ingestCaptures(batchOf([captureOf(agent)])), 200)
    await learnAll()
  }
  const samples = (each: number) => Object.fromEntries(TOOLS.map((name) => [name, each]))

  test('is learned some tools at a time: few of their summaries are in memory at once', async () => {
    before = () => {}
    await learnOnce('broad')
    await pad('broad')
    const sent: number[] = []
    before = (name, input) => {
      if (name === 'learnBatch') sent.push(JSON.stringify(input).length)
    }
    await learnOnce('broad')
    expect(Math.max(...sent)).toBeLessThan(5 * PADDED)
    expect(sent.length).toBe(TOOLS.length / 4)
    expect(await samplesOf('broad')).toEqual(samples(2))
  })

  test('counts for all of them or for none: the claim is lost between two groups', async () => {
    before = () => {}
    await learnOnce('torn')
    await pad('torn')
    let groups = 0
    before = async (name) => {
      if (name === 'learnBatch' && ++groups === 3)
        await runtime.sql`update learned_agents set claim_id = null, claimed_until = null where agent = 'torn'`
    }
    expectStatus(await api.ingestCaptures(batchOf([captureOf('torn')])), 200)
    expect(await learnCaptures(parts)).toBe(1)
    expect(groups).toBeGreaterThan(3)
    expect(await samplesOf('torn')).toEqual(samples(1))
    await learnAll()
    expect(await samplesOf('torn')).toEqual(samples(2))
  })

  test('is erased some tools at a time, too', async () => {
    before = () => {}
    const plan = planOf(TOOLS.map((tool) => ({ tool, side_effect: 'read', arguments: { type: 'object' } })))
    const session = await openSession(api, { session_id: 'wide', agent: 'erased', plan })
    await session.turn(TOOLS.map((name) => ({ name, args: { secret: 'of jane' } })))
    await parts.captures.flush()
    await runtime.sql`update unlearned_captures set due_at = due_at - interval '1 hour'`
    await learnAll()
    await pad('erased')
    const sent: number[] = []
    before = (name, input) => {
      if (name === 'forgetBatch') sent.push(JSON.stringify(input).length)
    }
    const { tenantId } = runtime
    await forgetSession({ ...parts, thread }, { tenantId, sessionId: 'wide' })
    expect(sent.length).toBe(TOOLS.length / 4)
    expect(Math.max(...sent)).toBeLessThan(5 * PADDED)
    const left = await runtime.sql`select 1 from learned_tools where agent = 'erased' and summary::text like '%jane%'`
    expect(left).toHaveLength(0)
  })
})

describe('an instance that lost its claim', () => {
  test.each(['another instance has the agent', 'a session of the agent is erased'])(
    '%s: it writes nothing',
    async (why) => {
      const agent = why.replaceAll(' ', '-')
      expectStatus(await api.ingestCaptures(batchOf(mailConversation(agent, 'Ann'))), 200)
      let isLost = false
      before = async (name) => {
        if (name !== 'learnBatch' || isLost) return
        isLost = true
        await runtime.sql`update learned_agents set claim_id = null, claimed_until = null where agent = ${agent}`
        if (why.startsWith('another'))
          await claimAgent(runtime.sql, { tenantId: runtime.tenantId, after: '', claimId: 'b' })
      }
      expect(await learnCaptures(parts)).toBe(1)
      expect(await samplesOf(agent)).toEqual({})
      await runtime.sql`update learned_agents set claim_id = null, claimed_until = null where agent = ${agent}`
      await learnAll()
      expect(await samplesOf(agent)).toEqual({ find_person: 1, send_mail: 1 })
    },
  )
})
