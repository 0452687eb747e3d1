import { chainEvent, foldEvents, preparePlan, type SessionState } from '@countersign/engine'
import type { LedgerHead, Reply, Routes, SessionEvent } from '@countersign/protocol'
import { expect } from 'vitest'
import type { Sql } from '../../../packages/server/src/postgres/sql.js'
import { throughSql } from '../../support/postgres/watched-sql.js'
import { proves } from '../../support/proves.js'
import { LOOKUP, openSession } from '../../support/runtime/governed-session.js'
import type { Reaction } from '../../support/runtime/person.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

/** What PostgreSQL sent at once, in characters of the events. */
const pages: number[] = []

const { runtime, api, owner } = await withOwnedRuntime({
  wrapDatabase: (database) => throughSql(database, measured),
})

function measured(pool: Sql): Sql {
  return new Proxy(pool, {
    apply: (sql, self, given: unknown[]) => {
      const query = Reflect.apply(sql, self, given)
      const text = (given[0] as { raw?: readonly string[] }).raw?.join('?') ?? ''
      if (!/from session_events/.test(text) || !('then' in query)) return query
      return Promise.resolve(query).then((rows: { body?: string }[]) => {
        pages.push(rows.reduce((sum, { body }) => sum + (body?.length ?? 0), 0))
        return rows
      })
    },
  }) as Sql
}

/** A session with a long past: one turn, then tool filters of so many characters each. */
async function longSession(events: number, charactersEach: number): Promise<string> {
  const session = await openSession(api)
  await session.turn([LOOKUP])
  const prepared = preparePlan(session.plan.compiled_session)
  if (!prepared.ok) throw new Error('the plan must be usable')
  const rows = await runtime.sql<{ body: string; at: Date; type: string; hash: string; seq: number }[]>`
    select seq, type, at, body, hash from session_events where session_id = ${session.sessionId} order by seq`
  const past = rows.map(
    ({ type, at, body }) => ({ type, at: at.toISOString(), body: JSON.parse(body) }) as SessionEvent,
  )
  const last = rows.at(-1)!
  let head: LedgerHead = { seq: last.seq, hash: last.hash }
  const added = Array.from({ length: events }, (_, index) => {
    const tools = [`${index}`.padStart(charactersEach, 't')]
    const event: SessionEvent = { type: 'tool_filter', at: '2026-01-01T00:00:00.000Z', body: { tools } }
    past.push(event)
    const { session_id: _s, ...link } = chainEvent(head, session.sessionId, event)
    head = { seq: link.seq, hash: link.hash }
    return link
  })
  for (let at = 0; at < added.length; at += 100)
    await runtime.sql`
      insert into session_events (tenant_id, session_id, seq, type, at, body, prev_hash, hash)
      select h.tenant_id, h.session_id, e.seq, e.type, e.at, e.body::text, e.prev_hash, e.hash from session_heads h,
        json_to_recordset(${JSON.stringify(added.slice(at, at + 100))}::text::json)
          as e (seq bigint, type text, at timestamptz, body json, prev_hash text, hash text)
      where h.session_id = ${session.sessionId}`
  const { recent, ...rest } = JSON.parse(JSON.stringify(foldEvents(past, prepared.plan))) as SessionState
  await runtime.sql`
    update session_heads set revision = 'long', state = ${JSON.stringify(rest)}, recent = ${JSON.stringify(recent)},
      facts = jsonb_set(facts::jsonb, '{ledger}', ${JSON.stringify(head)}::text::jsonb)::text
    where session_id = ${session.sessionId}`
  return session.sessionId
}

const MEBIBYTE = 1_048_576

type Page = Reaction<Reply<Routes['exportEventsByPerson']> | Reply<Routes['loadTimeline']>>

proves(
  'ledger.proof-bounded',
  'eight proofs of a big ledger at once read little at a time and answer others in between',
  async () => {
    const each = 16_384
    // They are made one after another, and the last may wait for ten seconds.
    const session_id = await longSession(300, each)
    pages.length = 0
    const proofs = Promise.all(Array.from({ length: 8 }, () => owner.call('loadProof', { params: { session_id } })))
    let isDone = false
    void proofs.then(() => {
      isDone = true
    })
    let answered = 0
    const other = await openSession(runtime.api())
    while (!isDone) {
      expect((await other.preflight()).status).toBe(200)
      answered++
    }
    const replies = await proofs
    expect(replies.map(({ status, body }) => [status, body.verified, body.events])).toEqual(
      Array(8).fill([200, true, 303]),
    )
    expect(Math.max(...replies.map(({ text }) => text.length))).toBeLessThan(2_000)
    expect(Math.max(...pages)).toBeLessThan(262_144 + 2 * each)
    expect(answered).toBeGreaterThan(10)
  },
  240_000,
)

proves(
  'ledger.pages-by-bytes',
  'an export and a timeline come in pages of about a mebibyte, and all of it comes',
  async () => {
    const session_id = await longSession(300, 16_384)
    for (const route of ['exportEventsByPerson', 'loadTimeline'] as const) {
      const seen: number[] = []
      for (let after: number | null = 0; after !== null; ) {
        const { body, text }: Page = await owner.call(route, {
          params: { session_id },
          query: { after: String(after), limit: '200' },
        })
        const page = 'events' in body ? body.events : body.items
        for (const { seq } of page) seen.push(seq)
        // The state of a timeline's item repeats what its event says.
        expect(text.length).toBeLessThan(3 * MEBIBYTE)
        after = body.next
      }
      expect(seen).toEqual(Array.from({ length: 303 }, (_, index) => index + 1))
    }
  },
  120_000,
)
