import type { Decision } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { loadPolicyEvaluator } from '../../packages/sdk/src/contracts/policy.js'
import {
  blockOf,
  type CallVerdict,
  openSession,
  prepareContracts,
  type Session,
  type ToolContext,
} from '../../packages/sdk/src/index.js'
import { type Case, type CaseEnd, isTurn, loadCases, type TurnStep, toolsOf } from '../support/cases/cases.js'
import { proves } from '../support/proves.js'

/**
 * A program has no say in the clock, in flows, or in the form of evidence, and a turn settles the one before. Without a
 * server it cannot have limits over all sessions.
 */
const isTold = ({ steps, counts }: Case): boolean =>
  counts === undefined &&
  steps.every((step, at) => {
    if (!isTurn(step)) return step.wait_seconds === undefined && step.kill === undefined
    const { flows, response, held, usage, request, preflight, then = [] } = step
    if ([flows, response, held, usage, request, preflight].some((value) => value !== undefined)) return false
    if (step.calls.some(({ text, id }) => text !== undefined || id !== undefined)) return false
    const isLast = !steps.slice(at + 1).some(isTurn)
    const allowed = step.expect.flatMap((item, call) => (item === 'allow' || item === 'ask' ? [call] : []))
    return allowed.every((call) => isLast || isPlain(then[call] ?? null))
  })

const isPlain = (end: CaseEnd | null): boolean =>
  end !== null &&
  end.arguments === undefined &&
  end.evidence === undefined &&
  end.stopped === undefined &&
  end.answer !== 'timeout' &&
  end.answer !== 'deny'

const cases = loadCases('local').filter(isTold)

describe('every case that a program can tell, through openSession', () => {
  test.each(cases.map((run) => [`${run.file} ${run.name}`, run] as const))('%s', async (_, run) => {
    const ends = new Map<string, CaseEnd>()
    const names = new Set(run.steps.flatMap((step) => (isTurn(step) ? [...toolsOf(run, step)] : [])))
    const execute = (_args: unknown, { callId }: ToolContext): unknown => endOf(ends.get(callId))
    const session = openSession({
      contracts: prepareContracts(run.contracts, { session: run.session, policy: loadPolicyEvaluator() }),
      tools: Object.fromEntries([...names].map((name) => [name, execute])),
      gate: run.gate,
      unmatchedPolicy: run.unmatchedPolicy,
      principal: run.principal,
      labels: [...run.labels],
      agent: 'case-agent',
      diagnostics: () => {},
    }) as Session
    let made = 0
    for (const step of run.steps) {
      if (!isTurn(step)) {
        if (step.label !== undefined) session.addLabel(step.label)
        if (step.filter !== undefined) step.filter === null ? session.widen() : session.narrow(step.filter)
        continue
      }
      await takeTurn(session, run, step, ends, made)
      made += step.calls.length
    }
    await session.close()
  })

  proves('open-session.judges', 'most cases can be told', () => {
    expect(cases.length).toBeGreaterThan(150)
  })
})

async function takeTurn(session: Session, run: Case, step: TurnStep, ends: Map<string, CaseEnd>, before: number) {
  const turn = await session.prepare({ provider: 'openai', model: step.model ?? 'gpt-4o', tools: toolsOf(run, step) })
  if (step.removed !== undefined) {
    expect(Object.fromEntries(turn.removed.map(({ tool, reason }) => [tool, reason]))).toEqual(step.removed)
  }
  const calls = step.calls.map(({ tool, args }, at) => ({
    id: `c${before + at + 1}`,
    name: tool,
    arguments: args ?? {},
  }))
  const { content, finish_reason } = step
  const answer = {
    calls,
    ...(content !== undefined && { text: content }),
    finishReason: (finish_reason ?? (calls.length > 0 ? 'tool_calls' : 'stop')) as 'stop',
  }
  const verdicts = await turn.propose(answer).catch((error: unknown) => blockOf(error)?.decision.decisions ?? [])
  expect(verdicts.map(seenOf)).toEqual(step.expect.map((item) => (typeof item === 'string' ? item : item.reason)))
  for (const [at, end] of (step.then ?? []).entries()) {
    const verdict = verdicts[at]
    if (!isPlain(end) || end === null || verdict === undefined || !('verdict' in verdict)) continue
    if (verdict.verdict === 'ask') await session.answer(verdict.id, { decision: 'approve', decided_by: 'ann' })
    if (verdict.verdict === 'block') continue
    ends.set(verdict.callId, end)
    if (end.outcome === 'not_executed') await session.settle(verdict.callId, { outcome: 'not_executed' })
    else await session.run(verdict.callId).catch(() => {})
  }
}

const seenOf = (one: CallVerdict | Decision): string => {
  if ('verdict' in one) return one.verdict === 'block' ? one.reason : one.verdict
  return one.reason ?? (one.checkpoint_required ? 'ask' : 'allow')
}

function endOf(end: CaseEnd | undefined): unknown {
  if (end?.outcome === 'failed') throw new Error('the tool failed')
  if (end?.outcome === 'unknown') throw new DOMException('lost', 'TimeoutError')
  return end?.result ?? null
}
