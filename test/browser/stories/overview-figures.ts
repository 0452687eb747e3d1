import type { Answer, BlockReason, Environment, Routes, SessionStatus } from '@countersign/protocol'
import { before } from './session-story.js'

type Overview = Answer<Routes['loadOverview']>
type SessionRow = Answer<Routes['listSessions']>['items'][number]

const RANGES = {
  '1h': { spans: 30, seconds: 120 },
  '24h': { spans: 48, seconds: 1_800 },
  '7d': { spans: 42, seconds: 14_400 },
  '30d': { spans: 30, seconds: 86_400 },
} as const

/** A day at a support desk: calm at night, two peaks, and one bad hour in which a prompt injection was stopped. */
export function overviewFigures(now: Date, range: keyof typeof RANGES, mainSession: string): Overview {
  const { spans: length, seconds } = RANGES[range]
  const end = Math.ceil(now.getTime() / 1_000 / seconds) * seconds
  const spans = Array.from({ length }, (_, index) => {
    const day = Math.sin((index / length) * Math.PI * 2 - 1.9) + 1.15
    const allowed = Math.round(day * 24 + ((index * 37) % 11))
    const bad = index === Math.floor(length * 0.68) ? 19 : index === Math.floor(length * 0.68) + 1 ? 11 : 0
    const by_reason: Partial<Record<BlockReason, number>> = {
      argument_value_mismatch: Math.round(day * 1.6 + (index % 3)),
      precondition_not_met: index % 4 === 0 ? 2 : 0,
      forbidden_tool: bad,
      loop_detected: index % 9 === 0 ? 1 : 0,
      session_limit_exceeded: index % 13 === 0 ? 1 : 0,
      policy_denied: index % 17 === 3 ? 1 : 0,
    }
    const blocked = Object.values(by_reason).reduce((sum, value) => sum + value, 0)
    const at = new Date((end - (length - index) * seconds) * 1_000).toISOString()
    return { at, allowed, blocked, by_reason: by_reason as Record<string, number> }
  })
  const sum = (pick: (span: (typeof spans)[number]) => number) => spans.reduce((total, span) => total + pick(span), 0)
  const names = Object.keys(spans[0]?.by_reason ?? {}) as BlockReason[]
  return {
    range,
    span_seconds: seconds,
    spans,
    totals: {
      allowed: sum((span) => span.allowed),
      blocked: sum((span) => span.blocked),
      sessions: 214,
      active_sessions: 37,
      calls_in_doubt: 2,
      unanswered_calls: 3,
      killed: 3,
      compromised: 1,
    },
    oldest_unanswered: before(now, 7 * 86_400),
    agents_total: 3,
    reasons: names
      .map((reason) => ({ reason, count: sum((span) => span.by_reason[reason] ?? 0) }))
      .sort((a, b) => b.count - a.count),
    agents: [
      { agent: 'support', sessions: 141, allowed: 1_020, blocked: 86, last_seen: before(now, 12) },
      { agent: 'billing-ops', sessions: 48, allowed: 301, blocked: 41, last_seen: before(now, 95) },
      { agent: 'research', sessions: 25, allowed: 188, blocked: 0, last_seen: before(now, 2_400) },
    ],
    recent_blocks: [
      {
        at: before(now, 48),
        session_id: mainSession,
        agent: 'support',
        seq: 6,
        index: 1,
        tool_name: 'send_email',
        reason: 'argument_value_mismatch',
      },
      {
        at: before(now, 160),
        session_id: mainSession,
        agent: 'support',
        seq: 4,
        index: 0,
        tool_name: 'issue_refund',
        reason: 'argument_value_mismatch',
      },
      {
        at: before(now, 900),
        session_id: 'ses_b81f',
        agent: 'billing-ops',
        seq: 12,
        index: 0,
        tool_name: 'change_iban',
        reason: 'precondition_not_met',
      },
      {
        at: before(now, 3_100),
        session_id: 'ses_09aa',
        agent: 'billing-ops',
        seq: 31,
        index: 0,
        tool_name: 'delete_customer',
        reason: 'forbidden_tool',
      },
    ],
  }
}

const AGENTS = ['support', 'support', 'billing-ops', 'support', 'research'] as const
const ENVIRONMENTS: readonly Environment[] = ['production', 'production', 'staging', 'production', 'development']
const REASONS: readonly (BlockReason | null)[] = [
  null,
  'precondition_not_met',
  null,
  'loop_detected',
  null,
  'policy_denied',
]
const STATUSES: readonly SessionStatus[] = [
  'ACTIVE',
  'ACTIVE',
  'ACTIVE',
  'RECOVERING',
  'ACTIVE',
  'KILLED',
  'ACTIVE',
  'COMPROMISED',
]

/** Sessions of every state, the one of the story first. */
export function sessionRows(now: Date, mainSession: string, hostileSession: string): SessionRow[] {
  const main: SessionRow = {
    session_id: mainSession,
    agent: 'support',
    environment: 'production',
    status: 'ACTIVE',
    phase: 'resolving',
    labels: ['untrusted_input', 'money_moved'],
    state_version: 2,
    allowed: 4,
    blocked: 2,
    in_doubt: 0,
    unanswered: 0,
    last_reason: 'argument_value_mismatch',
    actual_cost: 0.0412,
    workflow_id: null,
    created_at: before(now, 1_260),
    updated_at: before(now, 48),
  }
  const others = Array.from({ length: 70 }, (_, index): SessionRow => {
    const status = STATUSES[index % STATUSES.length] ?? 'ACTIVE'
    const reason = REASONS[index % REASONS.length] ?? null
    return {
      session_id: `ses_${(0xb81f + index * 7919).toString(16)}`,
      agent: AGENTS[index % AGENTS.length] ?? null,
      environment: ENVIRONMENTS[index % ENVIRONMENTS.length] ?? null,
      status,
      phase: index % 3 === 0 ? 'triage' : index % 3 === 1 ? 'resolving' : 'closed',
      labels: index % 4 === 0 ? ['untrusted_input'] : index % 7 === 0 ? ['vip', 'money_moved', 'reviewed', 'eu'] : [],
      state_version: index % 12,
      allowed: 2 + ((index * 5) % 23),
      blocked: reason === null ? 0 : 1 + (index % 3),
      in_doubt: status === 'RECOVERING' ? 1 + (index % 2) : 0,
      unanswered: status === 'RECOVERING' ? 1 + (index % 2) : 0,
      last_reason: reason,
      actual_cost: 0.004 * (index % 30),
      workflow_id: index % 5 === 2 ? 'case-1042' : null,
      created_at: before(now, 2_000 + index * 1_300),
      updated_at: before(now, 100 + index * 1_100),
    }
  })
  return [
    main,
    {
      ...main,
      agent: HOSTILE.agent,
      phase: HOSTILE.phase,
      labels: [...HOSTILE.labels],
      session_id: hostileSession,
      updated_at: before(now, 70),
    },
    ...others,
  ]
}

/** Names as an attacker would choose them. */
export const HOSTILE = {
  agent: '<img src=x onerror=alert(1)>',
  tool: '<script>document.title="owned"</script>',
  phase: 'safe\u202etxt.exe',
  labels: ['javascript-alert-1'],
} as const
