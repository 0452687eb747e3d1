import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import type { Queryable } from '../../../packages/server/src/postgres/sql.js'
import type { Value } from '../../../packages/server/src/postgres/values.js'
import {
  createSession,
  prepare,
  propose,
  receive,
  record,
} from '../../../packages/server/src/store/sessions/write-functions.js'
import type { Runtime, TestTenant } from '../runtime/runtime.js'

export const AT = '2026-11-19T12:00:00.000Z'
const FIXED = {
  status: 'ACTIVE',
  compiled_hash: 'plan',
  plan_source: 'client',
  unmatched_policy: 'block',
  capture_level: 'full',
  agent: 'clerk',
  environment: null,
  principal: { id: 'ann' },
  principal_proof: 'as_told',
  hash_salt: 'salt',
  limit_salt: null,
  workflow_id: null,
  role: null,
  body_hash: 'body',
}
export const head = (revision: string) => ({ revision, lease_until: AT, facts: '{}', state: null, recent: null })
export const event = (seq: number, hash = `h${seq}`) => ({
  seq,
  type: 'an_event',
  at: AT,
  body: '{"b":1.10}',
  prev_hash: `h${seq - 1}`,
  hash,
})
export const NO_KEY = { key_hash: null, quota: null }
export const json = (value: unknown): string => JSON.stringify(value)

export type Given = Readonly<Record<string, Value>>

/** Which session of which tenant. */
export interface Of {
  readonly tenant: string
  readonly session: string
}

export type Write = (of: Of, more?: Given) => Promise<boolean>

export const EXTRAS = json({
  events: [{ ...event(3), body: { c: 2 } }],
  status: 'KILLED',
  facets: [{ kind: 'label', value: 'vip' }],
  created_at: AT,
  content: [
    { kind: 'response', ref: 'prp', body: { big: 1 } },
    { kind: 'result', ref: 'nothing', body: null },
  ],
  receipts: [{ pending_call_id: 'more', v: 1 }],
  late: [
    {
      pending_call_id: 'call',
      number: 1,
      fence: 1,
      body_hash: 'b',
      outcome: 'failed',
      evidence_level: 'executed',
      argument_hash: 'a',
    },
  ],
  stopped: [{ proposal_id: 'prp', call_index: 0, proposed_at: AT, reason: 'killed' }],
  superseded: { id: 'old', expiresAt: AT },
  find: { agent: 'clerk', environment: 'production', ids: ['call_1', 'call_2'] },
  at: AT,
  seq: 2,
})

const TABLES = [
  'sessions',
  'session_heads',
  'session_events',
  'receipts',
  'late_receipts',
  'content',
  'blocked_proposals',
  'superseded_requests',
  'session_facets',
  'stopped_calls',
  'findable_ids',
]

/** The functions that write a session, each with arguments that suit a session whose revision is `r1`, for one of two tenants. */
export function callWrites({ sql, tenantId }: Pick<Runtime, 'sql' | 'tenantId'>, other: TestTenant) {
  const call =
    (write: (sql: Queryable, values: never) => Promise<boolean>, usual: Given): Write =>
    (of, more) =>
      write(sql, { ...of, extras: null, ...usual, ...more } as never)
  const later = { known: 'r1', ...head('r2'), ...NO_KEY }
  const create = call(createSession, {
    fixed: json(FIXED),
    ...head('r1'),
    state: '{"s":1}',
    recent: '[]',
    ...event(1),
    plan: null,
    token: null,
  })
  const prepareAs = call(prepare, {
    ...later,
    prepared: '{"id":"req"}',
    narrowing: null,
    request: 'req',
    has_superseded: true,
  })
  const proposeAs = call(propose, {
    ...later,
    ...event(2),
    request: 'req',
    with_tools: true,
    proposal: 'prp',
    outcome: 'accepted',
    record: '{"fence":1}',
    arguments: null,
    is_blocked: false,
  })
  const receiveAs = call(receive, {
    ...later,
    ...event(2),
    pending_call: 'call',
    receipt: '{"pending_call_id":"call"}',
    prepared: null,
    narrowing: null,
    request: null,
    has_superseded: true,
  })
  const recordAs = call(record, { ...later, ...event(2), clears_prepared: false })

  /** Every row of one session, by its table. */
  const rowsOf = async ({ tenant, session }: Of): Promise<Record<string, object[]>> => {
    const found: Record<string, object[]> = {}
    for (const table of TABLES) {
      const rows = await sql`
        select * from ${sql(table)} where tenant_id = ${tenant} and session_id = ${session} order by 1, 2, 3`
      if (rows.length > 0) found[table] = rows
    }
    return found
  }
  const createBoth = async (): Promise<Of> => {
    const session = `ses_${randomBytes(6).toString('hex')}`
    for (const tenant of [tenantId, other.tenantId]) expect(await create({ tenant, session })).toBe(true)
    return { tenant: tenantId, session }
  }
  return {
    ...{ create, prepare: prepareAs, propose: proposeAs, receive: receiveAs, record: recordAs, rowsOf },
    /** A session of both tenants under one id. */
    createBoth,
    /** Those of both sessions. */
    allRows: async (of: Of) => ({ own: await rowsOf(of), other: await rowsOf({ ...of, tenant: other.tenantId }) }),
    /** A key of the first tenant. */
    makeKey: async (): Promise<Buffer> => {
      const keyHash = randomBytes(32)
      await sql`
        insert into api_keys (tenant_id, key_id, name, prefix, key_hash)
        values (${tenantId}, ${keyHash.toString('hex')}, 'k', 'p', ${keyHash})`
      return keyHash
    },
  }
}
