import { randomUUID } from 'node:crypto'
import { flowOf, newTrail, type ToolSummary } from '@countersign/engine'
import type { JsonObject } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { learnCaptures, newCursor } from '../../../packages/server/src/captures/learn-captures.js'
import { claimAgent, findWaitingTenant, releaseAgent } from '../../../packages/server/src/store/captures/unlearned.js'
import { batchOf, mailConversation } from '../../support/data/captures.js'
import { rowsRead } from '../../support/postgres/rows-read.js'
import { proves } from '../../support/proves.js'
import { expectStatus, LOOKUP, openSession, receiptFor, refund } from '../../support/runtime/governed-session.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, api } = await withRuntime({ instances: 2 })

const storedItem = async (captureId: string) => {
  const [row] = await runtime.sql<{ item: Record<string, unknown> }[]>`
    select item from captures where tenant_id = ${runtime.tenantId} and capture_id = ${captureId}`
  return row?.item
}

describe('captures', () => {
  proves(['endpoint.captures', 'capture.batch-ingestion'], async () => {
    const captures = [...mailConversation('batch', 'Ann'), ...mailConversation('batch', 'Bob')]
    const answer = await api.ingestCaptures(batchOf(captures))
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ accepted: 4, duplicates: 0, rejected: [] })
  })

  test('are stored whatever keys and numbers the schemas of tools and the messages hold', async () => {
    const schema = JSON.parse(`{"type":"object","properties":{"constructor":{"type":"string"},
      "__proto__":{"type":"string"},"id":{"type":"integer","maximum":18446744073709551615}}}`)
    const messages = [JSON.parse('{"role":"user","content":"who leads?","meta":{"prototype":1e21}}')]
    const [item, next] = mailConversation('racing', 'Ann')
    const odd = { ...item, capture_level: 'full', request: { messages, tools: [{ name: 'find_person', schema }] } }
    const { status, body } = await api.ingestCaptures(batchOf([odd, next]))
    expect([status, body]).toEqual([200, { accepted: 2, duplicates: 0, rejected: [] }])
    const [offered] = await runtime.sql`
      select schema::text as schema from offered_tools where agent = 'racing' and tool_name = 'find_person'`
    expect(offered?.schema).toBe(JSON.stringify(schema))
    expect((await storedItem(item?.capture_id ?? ''))?.request).toMatchObject({ messages })
  })

  test('with a key or a member that no capture has are refused one by one', async () => {
    const [item, next] = mailConversation('members', 'Ann')
    const odd = [
      { ...item, constructor: 1 },
      { ...next, more: 1 },
    ]
    const { status, body } = await api.ingestCaptures(batchOf([...odd, ...mailConversation('members', 'Bob')]))
    expect([status, body.accepted, body.rejected.map(({ index }) => index)]).toEqual([200, 2, [0, 1]])
  })

  test('sent again are counted as duplicates and stored once', async () => {
    const captures = mailConversation('again', 'Ann')
    await api.ingestCaptures(batchOf(captures))
    const [first] = captures
    const { body } = await api.ingestCaptures(batchOf([...captures, first]))
    expect(body).toEqual({ accepted: 0, duplicates: 3, rejected: [] })
  })

  test('tell which tools were offered, with the newest schema of each', async () => {
    const [item] = mailConversation('offering', 'Ann')
    if (item === undefined) throw new Error('no capture')
    const offer = (schema?: JsonObject) => ({
      ...item,
      capture_id: randomUUID(),
      request: { tools: [{ name: 'find_person', ...(schema !== undefined && { schema }) }] },
    })
    const stored = async () => {
      const rows = await runtime.sql<{ schema: unknown }[]>`select schema from offered_tools where agent = 'offering'`
      return rows.map(({ schema }) => schema)
    }
    await api.ingestCaptures(batchOf([offer()]))
    expect(await stored()).toEqual([null])
    await api.ingestCaptures(batchOf([offer({ type: 'object' })]))
    await api.ingestCaptures(batchOf([offer()]))
    expect(await stored()).toEqual([{ type: 'object' }])
    await api.ingestCaptures(batchOf([offer({ type: 'object', required: ['name'] })]))
    expect(await stored()).toEqual([{ type: 'object', required: ['name'] }])
  })

  test('that are bad are refused one by one and the rest is stored', async () => {
    const [good, second] = mailConversation('mixed', 'Ann')
    const captures = [good, { ...second, unknown: 1 }, 'nothing', { ...second, tool_names: 7 }]
    const { body } = await api.ingestCaptures(batchOf(captures))
    expect(body.accepted).toBe(1)
    expect(body.rejected.map(({ index, capture_id, code }) => ({ index, capture_id, code }))).toEqual([
      { index: 1, capture_id: second?.capture_id, code: 'INVALID_CAPTURE' },
      { index: 2, capture_id: null, code: 'INVALID_CAPTURE' },
      { index: 3, capture_id: second?.capture_id, code: 'INVALID_CAPTURE' },
    ])
  })

  const leaky = (level: 'metadata' | 'redacted' | 'full') => {
    const [item] = mailConversation(`level-${level}`, 'Ann', { capture_level: level })
    if (item === undefined) throw new Error('no capture')
    return {
      ...item,
      request: { ...item.request, messages: [{ role: 'user', content: 'private words' }] },
      response: { ...item.response, content: 'private answer' },
    }
  }
  const storedAt = async (level: 'metadata' | 'redacted' | 'full') => {
    const item = leaky(level)
    await api.ingestCaptures(batchOf([item]))
    return JSON.stringify(await storedItem(item.capture_id))
  }

  proves(['capture.metadata.tool-names', 'capture.metadata.nothing-else'], async () => {
    const stored = await storedAt('metadata')
    expect(stored).toContain('find_person')
    for (const secret of ['Ann', 'private', 'flows', 'schema"']) expect(stored).not.toContain(secret)
  })

  proves(['capture.redacted.names-and-arguments', 'capture.redacted.nothing-else'], async () => {
    const stored = await storedAt('redacted')
    for (const part of ['find_person', 'Ann', 'flows']) expect(stored).toContain(part)
    expect(stored).not.toContain('private')
  })

  proves('capture.full.everything', async () => {
    const stored = await storedAt('full')
    for (const part of ['find_person', 'Ann', 'private words', 'private answer']) expect(stored).toContain(part)
  })

  test('of another tenant stay apart, even under one id', async () => {
    const captures = mailConversation('apart', 'Ann')
    await api.ingestCaptures(batchOf(captures))
    const other = await runtime.createTenant()
    expect((await runtime.api(other.key).ingestCaptures(batchOf(captures))).body.accepted).toBe(2)
  })
})

const learnAll = async () => {
  for (const { parts } of runtime.instances) {
    while ((await learnCaptures(parts)) > 0) {
      // Until nothing is left.
    }
  }
}

describe('learning', () => {
  test('counts each capture once, however many instances learn at the same time', async () => {
    const names = ['Ann', 'Bob', 'Cleo', 'Dan', 'Eve', 'Flo']
    const captures = names.flatMap((name) => mailConversation('crowd', name))
    await api.ingestCaptures(batchOf(captures))
    const learners = Array.from(
      { length: 8 },
      (_, at) => runtime.instances[at % 2]?.parts ?? runtime.instances[0].parts,
    )
    await Promise.all(learners.map((parts) => learnCaptures(parts)))
    await learnAll()
    const rows = await runtime.sql<{ toolName: string; samples: number }[]>`
      select tool_name, samples::int from learned_tools where agent = 'crowd' order by tool_name`
    expect(rows.map((row) => ({ ...row }))).toEqual([
      { toolName: 'find_person', samples: 6 },
      { toolName: 'send_mail', samples: 6 },
    ])
    const [left] = await runtime.sql`select count(*)::int as count from unlearned_captures`
    expect(left?.count).toBe(0)
  })

  test('does not learn from a call that was blocked', async () => {
    const validation = {
      mode: 'enforce' as const,
      pass: false,
      calls: [{ index: 0, decision: 'block' as const, reasons: [] }],
    }
    await api.ingestCaptures(batchOf(mailConversation('blocked', 'Ann', { validation })))
    await learnAll()
    const rows = await runtime.sql<{ samples: number; judged: number; passed: number }[]>`
      select samples::int, judged::int, passed::int from learned_tools where agent = 'blocked'`
    expect(rows.map((row) => ({ ...row }))).toEqual([
      { samples: 0, judged: 1, passed: 0 },
      { samples: 0, judged: 1, passed: 0 },
    ])
  })
})

/** Captures that hold nothing to learn from, many at once. */
const insertIdle = async (agent: string, count: number, due = '0 s') => {
  const item = { request: { tools: [] }, response: { tool_calls: [] } }
  await runtime.sql`
    with stored as (
      insert into captures (tenant_id, capture_id, agent, conversation_id, at, capture_level, tool_names, item)
      select ${runtime.tenantId}, ${agent} || n, ${agent}, 'c', now(), 'metadata', '{}',
        ${JSON.stringify(item)}::text::json
      from generate_series(1, ${count}) n
      returning tenant_id, agent, capture_id
    )
    insert into unlearned_captures (tenant_id, agent, due_at, first_id, capture_ids, captures)
    select tenant_id, agent, now() + ${due}::interval, capture_id, array[capture_id], 1 from stored`
  await runtime.sql`insert into learned_agents (tenant_id, agent, salt) values (${runtime.tenantId}, ${agent}, 's')`
}

describe('an agent with a long backlog', () => {
  const leftOf = async (agent: string) =>
    (await runtime.sql`select 1 from unlearned_captures where agent = ${agent}`).length
  const partsOf = (instance: 0 | 1) => runtime.instances[instance]!.parts

  test('gets its turn, and then the others get theirs', async () => {
    await insertIdle('long-a', 5_600)
    await insertIdle('long-b', 3)
    const turn = newCursor()
    const learn = () => learnCaptures(partsOf(0), turn)
    expect([await learn(), await learn(), await learn()]).toEqual([500, 3, 500])
    expect([await leftOf('long-a'), await leftOf('long-b')]).toEqual([4_600, 0])
  })

  test('does not hide the others from an instance that finds it taken', async () => {
    await insertIdle('long-c', 3)
    const { claim } = await claimAgent(runtime.sql, { tenantId: runtime.tenantId, after: '', claimId: 'another' })
    expect(claim?.agent).toBe('long-a')
    expect(await learnCaptures(partsOf(1))).toBe(3)
    expect(await learnCaptures(partsOf(1))).toBe(0)
    if (claim !== null) await releaseAgent(runtime.sql, claim)
    expect([await leftOf('long-a'), await leftOf('long-c')]).toEqual([4_600, 0])
    await runtime.sql`delete from unlearned_captures where agent = 'long-a'`
  })

  test('of which all was removed before anybody learned from it keeps nobody waiting', async () => {
    await insertIdle('long-e', 3)
    await runtime.sql`delete from captures where agent = 'long-e'`
    expect(await learnCaptures(partsOf(0))).toBe(3)
    expect(await leftOf('long-e')).toBe(0)
  })

  test('whose receipts are waited for is passed over without a look at each of its captures', async () => {
    await insertIdle('long-d', 2_000, '1 minute')
    const { tenantId } = runtime
    const read = await partsOf(0).database.transaction('jobs', (tx) =>
      rowsRead(tx, 'unlearned_captures', async () => {
        expect(await findWaitingTenant(tx, '')).toBeNull()
        const search = await claimAgent(tx, { tenantId, after: '', claimId: 'nobody' })
        expect(search).toEqual({ claim: null, reached: null })
      }),
    )
    expect(read).toBeLessThan(20)
    await runtime.sql`delete from unlearned_captures where agent = 'long-d'`
  })

  proves('limit.fair.learning-line', async () => {
    const other = await runtime.createTenant()
    const wait = (agents: number, tenantId: string, name: string, due: string) => runtime.sql`
      with taught as (
        insert into learned_agents (tenant_id, agent, salt)
        select ${tenantId}, ${name} || to_char(n, 'FM00000'), 'salt' from generate_series(1, ${agents}::int) n returning agent
      )
      insert into unlearned_captures (tenant_id, agent, due_at, first_id, capture_ids, captures)
      select ${tenantId}, agent, now() + ${due}::text::interval, 'gone', '{gone}', 1 from taught`
    await wait(20_000, runtime.tenantId, 'many-', '1 minute')
    await wait(1, runtime.tenantId, 'many-x', '-1 minute')
    await wait(1, other.tenantId, 'one-', '-1 minute')
    const { tenantId } = runtime
    const read = await partsOf(0).database.transaction('jobs', (tx) =>
      rowsRead(tx, 'unlearned_captures', async () => {
        expect(await findWaitingTenant(tx, '')).not.toBeNull()
        const search = await claimAgent(tx, { tenantId, after: '', claimId: 'nobody' })
        expect(search).toEqual({ claim: null, reached: 'many-01000' })
      }),
    )
    // Of each agent one row, and of each tenant.
    expect(read).toBeLessThan(1_100)
    const turn = newCursor()
    expect(await learnCaptures(partsOf(0), turn)).toBe(1)
    expect(await runtime.sql`select 1 from unlearned_captures where tenant_id = ${other.tenantId}`).toHaveLength(0)
    // The next searches go on where that one ended.
    for (let search = 0; search < 21; search++) await learnCaptures(partsOf(0), turn)
    expect(await leftOf('many-x00001')).toBe(0)
    await runtime.sql`delete from unlearned_captures where agent like 'many-%'`
  })
})

describe('an invented tool', () => {
  test('is not learned, listed or held against a plan', async () => {
    const captures = ['Ann', 'Bob'].flatMap((name) => mailConversation('inventor', name))
    const [first, second] = captures
    if (first === undefined || second === undefined) throw new Error('no captures')
    const invented = { ...second.response.tool_calls[0], id: 'x', name: 'send_everything', arguments: '{}' }
    const misled = {
      ...second,
      capture_id: randomUUID(),
      tool_names: ['send_everything'],
      response: { ...second.response, tool_calls: [invented] },
    }
    await api.ingestCaptures(batchOf([...captures, misled]))
    await learnAll()
    const rows = await runtime.sql<{ toolName: string }[]>`
      select tool_name from learned_tools where agent = 'inventor' order by tool_name`
    expect(rows.map(({ toolName }) => toolName)).toEqual(['find_person', 'send_mail'])
  })
})

describe('a governed session', () => {
  test('is captured by the server itself, blocked calls with their verdict', async () => {
    const session = await openSession(api, { agent: 'governed', capture_level: 'redacted' })
    await session.turn([LOOKUP])
    await session.decide([refund(900)])
    await runtime.instances[0].parts.captures.flush()
    const rows = await runtime.sql<{ toolNames: string[]; decision: string; captureLevel: string }[]>`
      select tool_names, decision, capture_level from captures where agent = 'governed' order by received_at, at`
    expect(rows.map(({ toolNames, decision }) => [toolNames, decision])).toEqual([
      [['lookup_order'], 'allow'],
      [['issue_refund'], 'block'],
    ])
  })

  test('teaches by what its receipts say: what failed only how arguments look, what did not run nothing', async () => {
    const trail = newTrail()
    const call = { id: 'call_0', tool: LOOKUP.name, arguments: LOOKUP.args }
    const flows = { calls: [flowOf(trail, call)] }
    const agent = 'receipts'
    const outcomes = ['succeeded', 'failed', 'unknown', 'not_executed', null] as const
    for (const outcome of outcomes) {
      const session = await openSession(api, { agent, capture_level: 'redacted' })
      const { decisions } = await session.decide([LOOKUP], { flows })
      const receipts = decisions.map((decision) => receiptFor(decision, { outcome: outcome ?? 'unknown' }))
      if (outcome !== null) expectStatus(await session.receipts(receipts), 200)
    }
    await runtime.instances[0].parts.captures.flush()
    await learnAll()
    const learned = () => runtime.sql<{ summary: ToolSummary }[]>`
      select summary from learned_tools where agent = ${agent} and tool_name = 'lookup_order'`
    expect(await learned()).toHaveLength(0)
    await runtime.sql`update unlearned_captures set due_at = due_at - interval '1 hour' where agent = ${agent}`
    await learnAll()
    const [row] = await learned()
    expect(row?.summary.samples).toBe(3)
    expect(row?.summary.flows.entries.map(([path, flow]) => [path, flow.sessions.length])).toEqual([['$.order_id', 1]])
  })
})
