import type { Answer, Input, RouteName, Routes, TimelineItem } from '@countersign/protocol'
import { agentRows, auditEntries, keysOf } from './account-story.js'
import { contractRows, planDetail, planRows, runOf } from './governance-story.js'
import { judgement } from './judgement.js'
import { HOSTILE, overviewFigures, sessionRows } from './overview-figures.js'
import { before, hashOf, sessionDetail, sessionStory } from './session-story.js'
import { workflowDetail } from './workflow-story.js'

export const MAIN_SESSION = 'ses_7f3a91c2d4'
export const HOSTILE_SESSION = 'ses_hostile'

type Asked<N extends RouteName> = Partial<Input<Routes[N]>>
export type Fixtures = { [N in RouteName]?: (asked: Asked<N>) => Answer<Routes[N]> | number }

interface Options {
  /** A new account: nothing has happened yet. */
  readonly empty?: boolean
  readonly signedIn?: boolean
  readonly verified?: boolean
}

/**
 * Answers of the service for the dashboard's pages, typed by the protocol so that they cannot drift from it. A number
 * is a refusal with that status. What a page changes stays changed.
 */
export function dashboardFixtures(
  now: Date,
  { empty = false, signedIn = true, verified = true }: Options = {},
): Fixtures {
  const held = {
    signedIn,
    verified,
    killed: new Set<string>(),
    plans: planRows(now),
    keys: keysOf(now),
    workflowKilled: false,
  }
  const user = () => ({
    user_id: 'usr_1',
    email: 'dana@northwind.example',
    name: 'Dana',
    email_verified: held.verified,
    tenant_id: 'ten_1',
    tenant_name: 'Northwind Trading',
    quota: 'team' as const,
  })
  const rows = () => (empty ? [] : sessionRows(now, MAIN_SESSION, HOSTILE_SESSION))
  const story = (id: string): TimelineItem[] => {
    const items = id === HOSTILE_SESSION ? hostileStory(now) : sessionStory(now, id)
    return held.killed.has(id) ? [...items, killedItem(items, now)] : items
  }
  const planNamed = (id: string | undefined) => held.plans.find(({ plan_id }) => plan_id === id)
  const decide = (id: string | undefined, state: 'approved' | 'rejected', why: string | undefined) => {
    const plan = planNamed(id)
    if (plan === undefined) return 404
    Object.assign(plan, { state, decided_at: now.toISOString(), decided_by: user().email, decided_why: why ?? null })
    return planDetail(now, plan)
  }

  return {
    me: () => (held.signedIn ? { user: user(), mail: 'sent' } : 401),
    login: ({ body }) => {
      if (body?.password === 'wrong password') return 401
      held.signedIn = true
      return { user: user() }
    },
    signup: () => {
      held.signedIn = true
      held.verified = false
      return { user: user(), api_key: 'csk_Zm9yIHRoZSBmaXh0dXJlcyBvbmx5ISEh', mail: 'sent' }
    },
    logout: () => {
      held.signedIn = false
      return { ok: true }
    },
    forgotPassword: () => ({ ok: true, mail: 'sent' }),
    resetPassword: ({ body }) => (body?.token.startsWith('good') ? { ok: true } : 400),
    verifyEmail: ({ body }) => {
      if (!body?.token.startsWith('good')) return 400
      held.verified = true
      return { ok: true }
    },
    resendVerification: () => ({ ok: true, mail: 'sent' }),

    loadOverview: ({ query }) => {
      const figures = overviewFigures(now, query?.range ?? '24h', MAIN_SESSION)
      if (!empty) return figures
      const zero = {
        allowed: 0,
        blocked: 0,
        sessions: 0,
        active_sessions: 0,
        calls_in_doubt: 0,
        unanswered_calls: 0,
        killed: 0,
        compromised: 0,
      }
      const spans = figures.spans.map((span) => ({ ...span, allowed: 0, blocked: 0, by_reason: {} }))
      return {
        ...figures,
        spans,
        totals: zero,
        reasons: [],
        agents: [],
        agents_total: 0,
        oldest_unanswered: null,
        recent_blocks: [],
      }
    },
    listSessions: ({ query = { limit: 50 } }) => {
      const fits = rows().filter(
        (row) =>
          (query.agent === undefined || row.agent === query.agent) &&
          (query.status === undefined || row.status === query.status) &&
          (query.reason === undefined || row.last_reason === query.reason) &&
          (query.label === undefined || row.labels.includes(query.label)) &&
          (query.from === undefined || row.updated_at >= query.from) &&
          (query.q === undefined || row.session_id.includes(query.q)),
      )
      const start = Number(query.cursor ?? 0)
      const page = fits.slice(start, start + 20)
      return { items: page, next: start + 20 < fits.length ? String(start + 20) : null }
    },
    loadSessionDetail: ({ params }) => {
      const row = rows().find(({ session_id }) => session_id === params?.session_id)
      return row === undefined ? 404 : sessionDetail(story(row.session_id), row, held.killed.has(row.session_id))
    },
    loadTimeline: ({ params }) => {
      const items = story(params?.session_id ?? '')
      const last = items.at(-1)
      return { items, next: null, head: { seq: last?.seq ?? 0, hash: last?.hash ?? hashOf('') } }
    },
    loadProof: ({ params }) => {
      const items = story(params?.session_id ?? '')
      const head = { seq: items.length, hash: items.at(-1)?.hash ?? '' }
      const exported = {
        session_id: params?.session_id ?? '',
        events: [],
        next: null,
        head,
        compiled_hash: hashOf('plan'),
        compiled_session: null,
        state: null,
      }
      return { verified: true, events: items.length, head, problem: null, export: exported }
    },
    eraseContent: () => ({ ok: true }),
    killSessionByPerson: ({ params }) => {
      held.killed.add(params?.session_id ?? '')
      const items = story(params?.session_id ?? '')
      const head = { seq: items.length, hash: items.at(-1)?.hash ?? '' }
      return { status: 'KILLED', killed: true, control_revision: 9, ledger: head }
    },

    listAgents: () => ({ agents: empty ? [] : agentRows(now), total: empty ? 0 : agentRows(now).length }),
    listCalls: () => ({ items: [], next: null }),
    listRuns: () => ({ items: [], next: null }),
    listContracts: ({ query }) => ({
      contracts: empty
        ? []
        : contractRows(now).filter(({ agent }) => query?.agent === undefined || agent === query.agent),
    }),
    listPlans: ({ query }) => ({
      items: empty
        ? []
        : held.plans.filter(
            (plan) =>
              (query?.agent === undefined || plan.agent === query.agent) &&
              (query?.state === undefined || plan.state === query.state),
          ),
      next: null,
    }),
    loadPlan: ({ params }) => {
      const plan = planNamed(params?.plan_id)
      return plan === undefined ? 404 : planDetail(now, plan)
    },
    draftPlan: () => planDetail(now, held.plans[0] ?? planRows(now)[0]!),
    editPlan: ({ params }) => {
      const plan = planNamed(params?.plan_id)
      return plan === undefined ? 404 : planDetail(now, plan)
    },
    approvePlan: ({ params, body }) => decide(params?.plan_id, 'approved', body?.why),
    rejectPlan: ({ params, body }) => decide(params?.plan_id, 'rejected', body?.why),
    startRun: ({ body }) => {
      const plan = planNamed(body?.plan_id)
      return plan === undefined ? 404 : runOf(plan, now)
    },
    loadRunDetail: () => runOf(planRows(now)[0]!, now),

    listKeys: () => ({ keys: held.keys, limit: 5 }),
    createKey: ({ body }) => {
      const key = {
        key_id: `key_${held.keys.length}`,
        name: body?.name ?? '',
        prefix: 'csk_bmV3',
        created_at: now.toISOString(),
        last_used_at: null,
        revoked_at: null,
      }
      held.keys.unshift(key)
      return { key, api_key: 'csk_bmV3IGtleSBmb3IgdGhlIGZpeHR1cmVz' }
    },
    revokeKey: ({ params }) => {
      const key = held.keys.find(({ key_id }) => key_id === params?.key_id)
      if (key === undefined) return 404
      key.revoked_at = now.toISOString()
      return { ok: true }
    },
    listAudit: () => ({ items: empty ? [] : auditEntries(now), next: null }),
    loadLimits: () => ({
      quota: 'team',
      buckets: [
        { bucket: 'write', per_minute: 3_000, available: 2_310.4 },
        { bucket: 'read', per_minute: 12_000, available: 11_988 },
        { bucket: 'evidence', per_minute: 6_000, available: 5_402 },
        { bucket: 'stop', per_minute: 600, available: 600 },
        { bucket: 'dashboard', per_minute: 1_200, available: 118 },
      ],
      bytes: { per_day: 50_000_000_000, available: 38_412_000_000 },
      runs: { used: 12, limit: 5_000 },
      keys: { active: held.keys.filter((key) => key.revoked_at === null).length, limit: 5 },
    }),

    listWorkflows: () => ({
      items: empty
        ? []
        : [
            {
              workflow_id: 'case-1042',
              status: held.workflowKilled ? 'KILLED' : 'ACTIVE',
              sessions: 4,
              open_handoffs: 1,
              created_at: before(now, 4_000),
            },
            {
              workflow_id: 'case-1038',
              status: 'ACTIVE',
              sessions: 2,
              open_handoffs: 0,
              created_at: before(now, 30_000),
            },
            {
              workflow_id: 'case-0991',
              status: 'KILLED',
              sessions: 3,
              open_handoffs: 0,
              created_at: before(now, 300_000),
            },
          ],
      next: null,
    }),
    loadWorkflowDetail: ({ params }) =>
      workflowDetail(now, { workflowId: params?.workflow_id ?? '', root: MAIN_SESSION, killed: held.workflowKilled }),
    killWorkflowByPerson: ({ params }) => {
      held.workflowKilled = true
      return { workflow_id: params?.workflow_id ?? '', status: 'KILLED', sessions_killed: 3 }
    },
    judgePlayground: () => judgement(),
  }
}

function hostileStory(now: Date): TimelineItem[] {
  return sessionStory(now, HOSTILE_SESSION).map((item) => ({
    ...item,
    labels: [...HOSTILE.labels],
    state: { ...item.state, currentPhase: HOSTILE.phase, toolCallCounts: { [HOSTILE.tool]: 1 } },
    calls: item.calls.map((call) => ({
      ...call,
      tool_name: HOSTILE.tool,
      arguments: { note: '</pre><img src=x onerror=alert(2)>\u202e\u0007' },
    })),
  }))
}

function killedItem(items: readonly TimelineItem[], now: Date): TimelineItem {
  const last = items.at(-1)
  if (last === undefined) throw new Error('a story has at least one event')
  const seq = last.seq + 1
  return {
    ...last,
    seq,
    at: now.toISOString(),
    type: 'killed',
    hash: hashOf(`killed ${seq}`),
    body: { by: 'dashboard' },
    preflight: null,
    calls: [],
    state: { ...last.state, killed: true },
  }
}
