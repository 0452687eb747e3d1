import type { RunReport } from '@countersign/protocol'
import { expect } from 'vitest'
import { divergenceWords } from '../../../packages/dashboard/src/pages/plan/backtest-words.js'
import { mergeFiles } from '../../../packages/dashboard/src/pages/plan/merge-files.js'
import { axisTime } from '../../../packages/dashboard/src/text/format.js'
import { proves } from '../../support/proves.js'
import { openSession } from '../../support/runtime/governed-session.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

const { runtime, owner, api } = await withOwnedRuntime()

const report = (sessions: number, passed: number, listed: number): RunReport => ({
  sessions,
  sessions_passed: passed,
  calls: sessions,
  calls_blocked: sessions - passed,
  pass_rate: passed / sessions,
  coverage: 1,
  coverage_by_tool: [],
  would_block: {},
  newly_allowed: 0,
  newly_blocked: sessions - passed,
  changed_calls: [],
  not_judged: {},
  divergences: Array.from({ length: listed }, (_, at) => ({
    ...{ session: `s${at}`, turn: 0, call: 0, tool_name: 'pay', remedy: null, reasons: [] },
    ...{ expected: 'allow' as const, decision: 'block' as const },
  })),
})

proves('people.counts.backtest', () => {
  expect(divergenceWords(report(300, 63, 200))).toEqual({
    title: '237 sessions would change, first here',
    cut: 'The list shows 200 of 237.',
  })
  expect(divergenceWords(report(3, 2, 1))).toEqual({ title: '1 session would change, first here', cut: null })
})

proves('people.counts.totals', 'sessions and agents beyond the end of a list are counted', async () => {
  await openSession(api, { session_id: 'first', agent: 'agent-0' })
  // Two hundred more agents, each with a copy of that session.
  await runtime.sql`
    insert into sessions
    select (s.x).* from (
      select jsonb_populate_record(s, jsonb_build_object('session_id', 'copy-' || n, 'agent', 'agent-' || n)) as x
      from sessions s, generate_series(1, 249) n where s.session_id = 'first'
    ) as s`
  await runtime.sql`
    insert into session_heads
    select (h.x).* from (
      select jsonb_populate_record(h, jsonb_build_object('session_id', 'copy-' || n)) as x
      from session_heads h, generate_series(1, 249) n where h.session_id = 'first'
    ) as h`
  const { body } = await owner.call('loadOverview', { query: { range: '24h' } })
  expect([body.totals.sessions, body.agents_total, body.agents.length]).toEqual([250, 250, 200])
  const agents = (await owner.call('listAgents')).body
  expect([agents.total, agents.agents.length]).toEqual([250, 200])
})

proves('people.plot.dates', () => {
  const days = 86_400
  const at = (day: number, hour: number) => new Date(2026, 2, day, hour)
  expect([1, 2, 3].map((day) => axisTime(at(day, 0), 30 * days))).toEqual(['1 Mar', '2 Mar', '3 Mar'])
  expect([axisTime(at(4, 6), 7 * days), axisTime(at(4, 0), days), axisTime(at(4, 6), days)]).toEqual([
    '4 Mar',
    '4 Mar',
    '06:00',
  ])
})

proves('people.edits.merge', () => {
  const files = (texts: Record<string, string>) => Object.entries(texts).map(([file, text]) => ({ file, text }))
  const base = files({ a: '1', b: '1', c: '1' })
  const mine = files({ a: 'mine', b: 'mine', c: '1' })
  const theirs = files({ a: '1', b: 'theirs', c: 'theirs' })
  expect(mergeFiles(base, mine, theirs)).toEqual([
    { file: 'a', text: 'mine' },
    { file: 'b', text: 'mine', theirs: 'theirs' },
    { file: 'c', text: 'theirs' },
  ])
})

proves('people.search.complete', async () => {
  const found = async (query: object) => {
    const ids = new Set<string>()
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const { items, next } = (
        await owner.call('listSessions', { query: { ...query, limit: '100', ...(cursor && { cursor }) } })
      ).body
      for (const { session_id } of items) ids.add(session_id)
      cursor = next
    }
    return ids.size
  }
  expect([await found({ q: 'copy-' }), await found({ q: 'copy-24' }), await found({ q: 'agent-7' })]).toEqual([
    249, 11, 1,
  ])
})
