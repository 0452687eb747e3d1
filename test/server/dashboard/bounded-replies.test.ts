import { expect } from 'vitest'
import { loadCustomerContracts } from '../../../packages/server/src/store/captures/learned-tools.js'
import { sumDecisions } from '../../../packages/server/src/store/dashboard/decision-counts.js'
import { listChangedPins } from '../../../packages/server/src/store/governance/tool-pins.js'
import { listRuns } from '../../../packages/server/src/store/runs/runs.js'
import { proves } from '../../support/proves.js'
import { openSession } from '../../support/runtime/governed-session.js'
import { planOf } from '../../support/runtime/plans.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'
import { openWorkflow, tryJoin } from '../../support/runtime/workflow.js'

const { runtime, owner, api } = await withOwnedRuntime()
const { sql } = runtime.instances[0].parts.database
const { tenant_id: tenantId } = (await owner.call('me')).body.user
const many = <Item>(count: number, make: (at: number) => Item): Item[] =>
  Array.from({ length: count }, (_, at) => make(at))

const MB = 1024 * 1024
const PAGE = 256 * 1024

proves('limit.pages.timeline', async () => {
  const name = (at: number) => `t${at}_`.padEnd(256, 'x')
  const plan = planOf(many(256, (at) => ({ tool: name(at), side_effect: 'read', gate: 'allow' })))
  const session = await openSession(api, { plan })
  for (let turn = 0; turn < 4; turn++) await session.turn(many(64, (at) => ({ name: name(turn * 64 + at), args: {} })))
  const params = { session_id: session.sessionId }
  // Small events, each of which leaves a state of 65 kB.
  for (let at = 0; at < 25; at++) await api.addLabel({ params, body: { label: `label_${at}` } })
  const seen: number[] = []
  const page = (after: number) => owner.call('loadTimeline', { params, query: { after: String(after), limit: '200' } })
  for (let after: number | null = 0; after !== null; ) {
    const { text, body }: Awaited<ReturnType<typeof page>> = await page(after)
    // One more event, and the two states of it.
    expect(text.length).toBeLessThan(PAGE + 3 * 65_000)
    seen.push(...body.items.map(({ seq }) => seq))
    after = body.next
  }
  const { ledger } = await session.load()
  expect(seen).toEqual(many(ledger.seq, (at) => at + 1))
})

proves('limit.pages.tool-pins', async () => {
  const tools = (text: string) => many(4, (at) => ({ name: `t${at}`, definition: { at, text: text.repeat(200_000) } }))
  const pin = (server: string, text: string) =>
    api.pinTools({ body: { agent: 'a', environment: 'staging', server, tools: tools(text) } })
  for (const server of ['one', 'two']) for (const text of ['x', 'y']) await pin(server, text)
  // Eight wait, of 400 kB each: three of them begin within a megabyte.
  expect(await listChangedPins(sql, tenantId, 100)).toHaveLength(3)
  const { body, text } = await owner.call('listToolPins')
  expect(text.length).toBeLessThan(2 * MB)
  for (const { changed, tool_name, ...pinned } of body.pins) {
    const { agent, environment, server } = pinned
    const hash = changed?.hash ?? ''
    await owner.call('approveToolPin', { body: { agent, environment, server, tool_name, hash } })
  }
  // Who decides on those sees the next.
  expect((await owner.call('listToolPins')).body.pins).toHaveLength(3)
})

proves('limit.pages.agents', async () => {
  const since = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 - 24 * 3_600_000)
  const names = many(500, (at) => `agent-${at}`)
  await sql`
    insert into decision_counts (tenant_id, grain, at, agent, reason, calls)
    select ${tenantId}, 'hour', ${since}, agent, reason, 1
    from unnest(${names}::text[]) as agent cross join (values (''), ('forbidden_tool')) as r (reason)`
  const span = { tenantId, since, spanSeconds: 3_600 }
  const { bySpan, byAgent } = await sumDecisions(sql, { ...span, agents: ['agent-7', 'agent-8', 'none'] })
  // As many rows as there are spans, reasons and agents that are shown, however many agents the tenant has.
  expect(bySpan.filter(({ span }) => span === 0).toSorted((a, b) => (a.reason < b.reason ? -1 : 1))).toEqual([
    { span: 0, reason: '', calls: 500 },
    { span: 0, reason: 'forbidden_tool', calls: 500 },
  ])
  expect(byAgent.map(({ agent }) => agent).sort()).toEqual(['agent-7', 'agent-7', 'agent-8', 'agent-8'])
})

proves('limit.pages.runs', async () => {
  const report = JSON.stringify({ text: 'x'.repeat(400_000) })
  await sql`
    insert into runs (tenant_id, run_id, status, compiled_hash, body_hash, report, created_at)
    select ${tenantId}, 'long-' || at, 'done', repeat('a', 64), repeat('b', 64), ${report}::text::json, clock_timestamp()
    from generate_series(1, 7) as at`
  const ids: string[] = []
  const sizes: number[] = []
  for (let below: Parameters<typeof listRuns>[1]['below'] = null; ids.length < 7; ) {
    const page = await listRuns(sql, { tenantId, compiledHash: null, below, limit: 51 })
    const last = page.at(-1)
    if (last === undefined) break
    ids.push(...page.map(({ runId }) => runId))
    sizes.push(page.length)
    expect(page[0]?.inPage).toBe(7 - (ids.length - page.length))
    below = { at: last.pageAt, id: last.runId }
  }
  expect(sizes).toEqual([3, 3, 1])
  expect(new Set(ids).size).toBe(7)
  await sql`delete from runs where tenant_id = ${tenantId}`
})

proves('limit.pages.contracts', async () => {
  await sql`
    insert into learned_agents (tenant_id, agent, salt)
    select ${tenantId}, 'wide_' || at, 'salt' from generate_series(1, 3) as at`
  const choice = { type: 'string', enum: ['x'.repeat(250)] }
  const schema = JSON.stringify({
    type: 'object',
    properties: Object.fromEntries(many(24, (at) => [`p${at}`, choice])),
  })
  await sql`
    insert into offered_tools (tenant_id, agent, tool_name, schema, seen_at)
    select ${tenantId}, 'wide_' || agent, 't_' || at, ${schema}::text::json, clock_timestamp()
    from generate_series(1, 3) as agent cross join generate_series(1, 400) as at`
  await sql`
    insert into customer_contracts (tenant_id, agent, tool_name, plan_id, file, text, written_at)
    select ${tenantId}, 'wide_1', 't_' || at, 'p', 't_' || at || '.yaml',
      'tool: t_' || at || e'\n# ' || repeat('y', 6000) || e'\n', clock_timestamp() + at * interval '1 second'
    from generate_series(1, 1000) as at`
  const written = await loadCustomerContracts(sql, tenantId, 'wide_1')
  // The newest, as many as fit into four megabytes.
  expect(written.map(({ toolName }) => toolName).sort()).toEqual(many(written.length, (at) => `t_${1_000 - at}`).sort())
  expect((written.length + 2) * 6_000).toBeGreaterThan(4 * MB - 20_000)
  expect(written.length * 6_000).toBeLessThan(4 * MB)
  const { body, text } = await owner.call('listContracts')
  expect(text.length).toBeLessThan(6 * MB)
  expect(body.more).toBe(true)
  expect(body.contracts.length).toBeGreaterThan(100)
  await sql`delete from offered_tools where tenant_id = ${tenantId}`
  await sql`delete from customer_contracts where tenant_id = ${tenantId}`
  await sql`delete from learned_agents where tenant_id = ${tenantId}`
})

proves('limit.workflow-bytes', async () => {
  const tools = many(256, (at) => `t${at}_`.padEnd(256, 'x'))
  const definition = { roles: { giver: { root: true }, taker: {} }, handoffs: [{ from: 'giver', to: 'taker' }] }
  const giver = await openWorkflow(api, { role: 'giver', definition })
  const params = { session_id: giver.sessionId }
  const offer = (at: number) =>
    api.offerHandoff({ params, body: { handoff_id: `h${at}`, fence: giver.fence, to_role: 'taker', tools } })
  let offered = 0
  // Each has 66 kB.
  while (offered < 30 && (await offer(offered)).status === 200) offered += 1
  expect(offered).toBe(4)
  expect((await offer(4)).problem).toMatchObject({ code: 'WORKFLOW_LIMIT' })
  const joining = { workflowId: giver.workflowId, role: 'taker', handoffId: 'h0' }
  expect((await tryJoin(api, joining)).problem).toMatchObject({ code: 'WORKFLOW_LIMIT' })
  const view = await api.loadWorkflow({ params: { workflow_id: giver.workflowId } })
  expect(JSON.stringify(view.body).length).toBeLessThan(2.5 * PAGE)
})

proves('limit.pages.shared-limits', async () => {
  // Plans of one tenant may give one name thousands of windows.
  await sql`
    insert into shared_limit_counts
      (tenant_id, name, id, buckets, amounts, past, used, expires_at, per, counts, time_window, most)
    select ${tenantId}, 'mails_' || at % 8, 'id_' || at, array[1::bigint], array[1::numeric], 0, 1,
      clock_timestamp() + interval '1 day', 'agent', 'calls', (at + 1) || 'm', 10
    from generate_series(0, 3999) at`
  const { limits, more } = (await owner.call('listSharedLimits')).body
  expect(limits).toHaveLength(256)
  expect(more).toBe(true)
  expect(new Set(limits.map(({ name, window }) => `${name} ${window}`)).size).toBe(256)
})
