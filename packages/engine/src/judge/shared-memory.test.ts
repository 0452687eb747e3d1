import { storySchema } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { runStory } from '../backtest/run-story.js'
import { compilePlan } from '../compile/compile-plan.js'
import { readResponse } from '../response/read-response.js'
import { initialState } from '../state/session-start.js'
import { evaluateProposal } from './evaluate-proposal.js'
import { narrowTools } from './narrow.js'
import type { SharedCounts } from './rules/draws.js'
import { createSharedMemory } from './shared-memory.js'

const compiled = compilePlan({
  contracts: [
    { file: 'pay', value: { tool: 'pay' } },
    { file: 'web', value: { tool: 'web_search', side_effect: 'read' } },
  ],
  session: {
    file: 'session.yaml',
    value: {
      shared_limits: [
        { name: 'paid', tool: 'pay', per: 'principal', sum: '$.amount', lte: 100, window: '30d' },
        { name: 'searches', tool: 'web_search', per: 'agent', max_calls: 2, window: '1h' },
      ],
    },
  },
})
if (!compiled.ok) throw new Error(JSON.stringify(compiled.errors))
const { plan } = compiled

const AT = '2026-01-01T00:00:00.000Z'
const state = initialState(plan, {
  type: 'created',
  at: AT,
  body: {
    agent: 'a',
    environment: null,
    holder_id: 'h',
    compiled_hash: plan.hash,
    plan_source: 'client',
    unmatched_policy: 'block',
    capture_level: 'metadata',
    labels: [],
    has_principal: true,
    initial_phase: null,
    fence: 1,
    workflow: null,
  },
})
const about = { plan, state, unmatchedPolicy: 'block' as const, agent: 'a', nowMs: Date.parse(AT) }

function judge(response: object, shared: SharedCounts) {
  return evaluateProposal({
    ...about,
    response: readResponse(response),
    gate: 'strip_partial',
    salt: 's',
    offered: null,
    toolless: false,
    shared,
    ids: { sessionId: 's', proposalId: 'p', pendingCallId: String },
  })
}
const paying = { tool_calls: [{ id: 'c', name: 'pay', arguments: { amount: 60 } }] }
const memory = (principal: string | null) => createSharedMemory().counts({ principal, agent: 'a', workflowId: null })

test('where what others used is not known, nothing is allowed and no limited tool is offered', () => {
  const unknown: SharedCounts = { ...memory('ann'), used: () => null }
  expect(judge(paying, unknown).decisions[0]).toMatchObject({
    reason: 'session_limit_exceeded',
    remedy: expect.stringContaining('the server cannot be asked now'),
  })
  const { removed } = narrowTools({ ...about, tools: [{ name: 'pay' }, { name: 'web_search' }], shared: unknown })
  expect(removed.map(({ tool }) => tool)).toEqual(['pay', 'web_search'])
})

test('a session whose principal was erased can use nothing that is counted for each principal', () => {
  expect(judge(paying, memory(null)).decisions[0]).toMatchObject({ reasons: [{ detail: 'shared_limit' }] })
  expect(judge(paying, memory('ann')).draws).toMatchObject([{ amount: '60', guarded: true }])
})

test('what the provider ran counts in any case, and the calls beside it see it', () => {
  const search = { type: 'web_search_call', id: 'w', status: 'completed', action: { query: 'q' } }
  const call = { type: 'function_call', call_id: 'c', name: 'web_search', arguments: '{}' }
  const verdict = judge({ object: 'response', output: [search, search, call] }, memory('ann'))
  expect(verdict.decisions[0]).toMatchObject({ decision: 'block', reasons: [{ detail: 'shared_limit' }] })
  expect(verdict.draws).toMatchObject([{ amount: '2', guarded: false }])
  expect(verdict.event.draws).toMatchObject([{ limit: 'searches' }, { limit: 'searches' }])
})

test('a story counts within itself, at its own times', () => {
  const step = (amount: number, expected: object, at?: string) => ({
    call: 'pay',
    with: { amount },
    ...expected,
    ...(at !== undefined && { at }),
  })
  const block = { expect: 'block', reason: 'session_limit_exceeded', path: '$.amount' }
  const story = storySchema.parse({
    name: 'a month',
    principal: 'ann',
    steps: [
      step(60, { expect: 'allow' }, '2026-01-01T10:00:00Z'),
      step(60, block),
      step(40, { expect: 'allow' }),
      step(1, { ...block, hidden: ['pay'] }, '2026-01-31T23:59:00Z'),
      step(100, { expect: 'allow' }, '2026-02-01T00:00:00Z'),
    ],
  })
  expect(runStory(story, plan)).toEqual([])
})
