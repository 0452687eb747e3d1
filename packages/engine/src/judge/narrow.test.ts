import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import { describe, expect, vi } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { compilePlan } from '../compile/compile-plan.js'
import { createPolicyEvaluator } from '../contract/cedar.js'
import { initialState } from '../state/session-start.js'
import type { SessionState } from '../state/state.js'
import { narrowTools } from './narrow.js'

const CONTRACTS = [
  'tool: look\n',
  'tool: refund\nlabels: { deny_when: [untrusted] }\n',
  'tool: close\nforbids_after: [look]\ntransitions: { valid_in_phases: [late] }\n',
  'tool: ship\npreconditions: [{ requires_prior_tool: look }]\n',
  'tool: wipe\npolicy: { cedar: "permit (principal == Principal::\\"root\\", action, resource);" }\n',
]
const SESSION =
  'phases: [{ name: early, initial: true }, { name: late, terminal: true }]\ntransitions: { early: [late] }\n'

const result = compilePlan(
  {
    contracts: CONTRACTS.map((text) => ({ file: `${/tool: (\w+)/.exec(text)?.[1]}.yaml`, text })),
    session: { file: 'session.yaml', text: SESSION },
  },
  { policy: createPolicyEvaluator(cedar) },
)
if (!result.ok) throw new Error(JSON.stringify(result.errors))
const { plan } = result
const created = {
  agent: null,
  environment: null,
  holder_id: 'h',
  compiled_hash: plan.hash,
  plan_source: 'client',
} as const
const fresh = initialState(plan, {
  type: 'created',
  at: '2026-01-01T00:00:00.000Z',
  body: {
    ...created,
    unmatched_policy: 'block',
    capture_level: 'redacted',
    labels: [],
    has_principal: true,
    initial_phase: 'early',
    fence: 1,
    workflow: null,
  },
})

function narrow(tool: string, state: Partial<SessionState> = {}, principal = 'ann') {
  const tools = [{ name: tool }]
  return narrowTools({
    plan,
    state: { ...fresh, ...state },
    tools,
    unmatchedPolicy: 'block',
    principal,
    agent: null,
    nowMs: 0,
  })
}

describe('narrowing', () => {
  proves(['narrow-result.removed', 'narrowed-tool.tool'], () => {
    const tools = ['look', 'close', 'mint'].map((name) => ({ name }))
    const { allowed, removed } = narrowTools({
      plan,
      state: fresh,
      tools,
      unmatchedPolicy: 'block',
      principal: 'ann',
      agent: null,
      nowMs: 0,
    })
    expect(allowed).toEqual(['look'])
    expect(removed.map(({ tool }) => tool)).toEqual(['close', 'mint'])
  })

  proves('narrowed-tool.wrong-phase', () => {
    expect(narrow('close').removed).toMatchObject([{ reason: 'wrong_phase' }])
    expect(narrow('close', { phase: 'late' }).allowed).toEqual(['close'])
  })

  proves('narrowed-tool.precondition-not-met', () => {
    expect(narrow('ship').removed).toMatchObject([{ reason: 'precondition_not_met' }])
    expect(narrow('ship', { satisfied: { look: true } }).allowed).toEqual(['ship'])
  })

  proves('narrowed-tool.forbidden-in-state', () => {
    expect(narrow('look', { used: { close: 1 } }).removed).toMatchObject([{ reason: 'forbidden_in_state' }])
    expect(narrow('look').allowed).toEqual(['look'])
  })

  proves(
    'limit.fair.kept-values',
    'a tool that is named again is decided once, and one that many forbid by those used',
    () => {
      const asked = { plan, state: fresh, unmatchedPolicy: 'block' as const, principal: 'ann', agent: null, nowMs: 0 }
      const tools = Array.from({ length: 500 }, (_, at) => ({ name: at % 2 === 0 ? 'look' : 'mint' }))
      const looked = vi.spyOn(plan.contracts, 'get')
      const { allowed, removed } = narrowTools({ ...asked, tools })
      expect(looked).toHaveBeenCalledTimes(2)
      looked.mockRestore()
      expect([allowed.length, removed.length]).toEqual([250, 250])

      const forbidding = Array.from({ length: 200 }, (_, at) => ({
        tool: `t${at}`,
        forbids_after: Array(250).fill('look'),
      }))
      const compiled = compilePlan({
        contracts: [...forbidding, { tool: 'look' }].map((value) => ({ file: value.tool, value })),
      })
      if (!compiled.ok) throw new Error(JSON.stringify(compiled.errors))
      expect(compiled.plan.forbiddenBy.get('look')?.size).toBe(200)
      const look = (used: SessionState['used']) =>
        narrowTools({
          ...asked,
          plan: compiled.plan,
          state: { ...fresh, phase: null, used },
          tools: [{ name: 'look' }],
        })
      expect(look({ t7: 1, other: 1 }).removed).toMatchObject([{ tool: 'look', reason: 'forbidden_in_state' }])
      expect(look({ t7: 0, other: 1 }).allowed).toEqual(['look'])
    },
  )

  proves('narrowed-tool.no-contract', () => {
    expect(narrow('mint').removed).toMatchObject([{ tool: 'mint', reason: 'no_contract' }])
    const tools = [{ name: 'mint', kind: 'provider' as const }]
    const about = { plan, state: fresh, tools, principal: 'ann', agent: null, nowMs: 0 }
    expect(narrowTools({ ...about, unmatchedPolicy: 'allow' }).allowed).toEqual(['mint'])
  })

  proves('narrowed-tool.policy-denied', () => {
    expect(narrow('wipe').removed).toEqual([{ tool: 'wipe', reason: 'policy_denied', contract_file: 'wipe.yaml' }])
    expect(narrow('wipe', {}, 'root').allowed).toEqual(['wipe'])
  })

  proves('narrowed-tool.manual-filter', () => {
    expect(narrow('look', { toolFilter: ['refund'] }).removed).toMatchObject([{ reason: 'manual_filter' }])
    expect(narrow('look', { offeredTools: ['refund'] }).removed).toMatchObject([{ reason: 'manual_filter' }])
    expect(narrow('refund', { toolFilter: ['refund'], offeredTools: ['refund'] }).allowed).toEqual(['refund'])
  })

  proves('narrowed-tool.label-gate', () => {
    expect(narrow('refund', { labels: ['untrusted'] }).removed).toMatchObject([{ reason: 'label_gate' }])
    expect(narrow('refund', { labels: ['other'] }).allowed).toEqual(['refund'])
  })

  proves(['narrowed-tool.detail', 'narrowed-tool.contract-file'], () => {
    const detail = '"close" can be called in phase late; the session is in early.'
    expect(narrow('close').removed).toEqual([
      { tool: 'close', reason: 'wrong_phase', detail, contract_file: 'close.yaml' },
    ])
  })
})

proves(
  'condition.narrowing',
  'a tool that the provider runs is hidden unless a condition fails: nobody judges its calls',
  () => {
    const when = '[{ path: $.query, not_one_of: [weather] }]'
    const compiled = compilePlan({
      contracts: [
        { file: 'a.yaml', text: `tool: web_search\nlabels: { deny_when: [{ label: secret, when: ${when} }] }\n` },
      ],
    })
    if (!compiled.ok) throw new Error(JSON.stringify(compiled.errors))
    const narrowed = (kind: 'function' | 'provider', labels: readonly string[]) =>
      narrowTools({
        plan: compiled.plan,
        state: { ...fresh, labels },
        tools: [{ name: 'web_search', kind }],
        unmatchedPolicy: 'block',
        agent: null,
        nowMs: 0,
      }).removed
    expect(narrowed('provider', ['secret'])).toEqual([
      { tool: 'web_search', reason: 'label_gate', detail: expect.stringContaining('secret'), contract_file: 'a.yaml' },
    ])
    expect(narrowed('provider', [])).toEqual([])
    expect(narrowed('function', ['secret'])).toEqual([])
  },
)
