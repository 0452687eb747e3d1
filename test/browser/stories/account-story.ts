import type { Answer, Routes } from '@countersign/protocol'
import { before, hashOf } from './session-story.js'

export const keysOf = (now: Date): Answer<Routes['listKeys']>['keys'] => [
  {
    key_id: 'key_a',
    name: 'production',
    prefix: 'csk_Zm9y',
    created_at: before(now, 40 * 86_400),
    last_used_at: before(now, 4),
    revoked_at: null,
  },
  {
    key_id: 'key_b',
    name: 'staging, nightly tests',
    prefix: 'csk_c3Rh',
    created_at: before(now, 12 * 86_400),
    last_used_at: before(now, 30_000),
    revoked_at: null,
  },
  {
    key_id: 'key_c',
    name: 'laptop of Lee',
    prefix: 'csk_bGVl',
    created_at: before(now, 90 * 86_400),
    last_used_at: null,
    revoked_at: before(now, 3 * 86_400),
  },
]

export const agentRows = (now: Date): Answer<Routes['listAgents']>['agents'] => [
  {
    agent: 'support',
    since: before(now, 30 * 86_400),
    sessions: 141,
    last_seen: before(now, 12),
    calls: { enforced: 1_020, observed: 212, ungoverned: 14 },
    coverage: 0.989,
    health: { status: 'degraded', blocked_calls: 86, unanswered_calls: 0, recovering: 2, compromised: 1, killed: 3 },
    set_aside: { captures: 0, reason: null },
    environments: [
      {
        environment: 'production',
        status: 'approved',
        compiled_hash: hashOf('a'),
        approved_at: before(now, 6 * 86_400),
      },
      { environment: 'staging', status: 'approved', compiled_hash: hashOf('b'), approved_at: before(now, 8 * 86_400) },
      { environment: 'development', status: 'draft', compiled_hash: null, approved_at: null },
    ],
  },
  {
    agent: 'billing-ops',
    since: before(now, 30 * 86_400),
    sessions: 48,
    last_seen: before(now, 95),
    calls: { enforced: 301, observed: 77, ungoverned: 41 },
    coverage: 0.824,
    health: { status: 'healthy', blocked_calls: 41, unanswered_calls: 0, recovering: 0, compromised: 0, killed: 0 },
    set_aside: { captures: 2, reason: 'learnBatch failed: it took longer than 10 seconds' },
    environments: [
      { environment: 'production', status: 'none', compiled_hash: null, approved_at: null },
      { environment: 'staging', status: 'draft', compiled_hash: null, approved_at: null },
    ],
  },
  {
    agent: 'research',
    since: before(now, 30 * 86_400),
    sessions: 25,
    last_seen: before(now, 12 * 86_400),
    calls: { enforced: 0, observed: 188, ungoverned: 188 },
    coverage: 0,
    health: { status: 'inactive', blocked_calls: 0, unanswered_calls: 0, recovering: 0, compromised: 0, killed: 0 },
    set_aside: { captures: 0, reason: null },
    environments: [{ environment: 'development', status: 'none', compiled_hash: null, approved_at: null }],
  },
]

export const auditEntries = (now: Date): Answer<Routes['listAudit']>['items'] => {
  const by = { actor: 'dana@northwind.example', key: null, ip: '203.0.113.7', subject: null, detail: null }
  const key = { key_id: 'key_71', name: 'staging, nightly tests', prefix: 'csk_Zk81' }
  return [
    { ...by, audit_id: '9', at: before(now, 40), action: 'login' },
    {
      ...by,
      audit_id: '8',
      at: before(now, 3_600),
      action: 'session_killed',
      subject: 'ses_09aa',
      detail: 'Sent mail to an outside address again and again',
    },
    { ...by, audit_id: '7', at: before(now, 5_400), action: 'plan_submitted', subject: 'plan_d4c1', actor: null, key },
    { ...by, audit_id: '6', at: before(now, 86_400), action: 'key_created', subject: 'staging, nightly tests' },
    {
      ...by,
      audit_id: '5',
      at: before(now, 3 * 86_400),
      action: 'key_revoked',
      subject: 'laptop of Lee',
      actor: 'lee@northwind.example',
    },
    {
      ...by,
      audit_id: '4',
      at: before(now, 6 * 86_400),
      action: 'plan_approved',
      subject: 'plan_a910',
      actor: 'lee@northwind.example',
      detail: 'Backtest over 1,000 sessions clean; limits agreed with finance.',
    },
    {
      ...by,
      audit_id: '3',
      at: before(now, 8 * 86_400),
      action: 'login_failed',
      actor: null,
      ip: '198.51.100.23',
      subject: 'dana@northwind.example',
    },
    { ...by, audit_id: '2', at: before(now, 40 * 86_400), action: 'email_verified' },
    { ...by, audit_id: '1', at: before(now, 40.01 * 86_400), action: 'signup' },
  ]
}
