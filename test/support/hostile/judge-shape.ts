import { compilePlan, evaluateProposal, initialState, type Plan, readResponse } from '@countersign/engine'
import { createdEvent } from '../data/created-event.js'
import type { HostileShape } from './judging-shapes.js'

export function planOf({ contracts }: HostileShape): Plan {
  const sources = contracts.map((contract, at) => ({ file: `${at}.json`, text: JSON.stringify(contract) }))
  const compiled = compilePlan({ contracts: sources })
  if (!compiled.ok) throw new Error(compiled.errors.map(({ message }) => message).join('; '))
  return compiled.plan
}

export function judge(shape: HostileShape, plan = planOf(shape)) {
  const state = initialState(plan, createdEvent(plan.hash))
  const calls = shape.calls.map((args, at) => ({ id: `c${at}`, name: 'act', arguments: JSON.stringify(args) }))
  return evaluateProposal({
    plan,
    state,
    response: readResponse({ tool_calls: calls, content: shape.content ?? null }),
    gate: 'strip_partial',
    unmatchedPolicy: 'block',
    agent: null,
    salt: 'salt',
    nowMs: 0,
    offered: null,
    toolless: false,
    ids: { sessionId: 's', proposalId: 'p', pendingCallId: String },
  })
}
