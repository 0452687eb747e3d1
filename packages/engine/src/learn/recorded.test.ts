import type { JsonValue } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import { readSharedLines, SHARED_DATA_MISSING, sharedData } from '../../../../test/support/data/shared-data.js'
import { backtestSession } from '../backtest/backtest.js'
import { compilePlan } from '../compile/compile-plan.js'
import { flowOf } from '../flows/flows.js'
import { newTrail, sawCall, sawResult, sawUser, takeColumns } from '../flows/trail.js'
import { draftContracts } from './draft.js'
import { addCall, addColumns, newSummary, type ToolSummary } from './summary.js'

interface Gold {
  id: string
  user_prompt?: string
  user_prompts?: string[]
  calls: { name: string; arguments: JsonValue; turn: number; result_excerpt?: string; error?: string | null }[]
}

function learn(dialogues: readonly Gold[]): ToolSummary[] {
  const byTool = new Map<string, ToolSummary>()
  const of = (tool: string) => {
    const summary = byTool.get(tool) ?? newSummary(tool)
    byTool.set(tool, summary)
    return summary
  }
  for (const { id, user_prompt, user_prompts, calls } of dialogues) {
    const trail = newTrail()
    for (const text of user_prompts ?? [user_prompt ?? '']) sawUser(trail, text)
    for (const call of calls) {
      const flow = flowOf(trail, { id: '', tool: call.name, arguments: call.arguments })
      addCall(of(call.name), { session: id, tool: call.name, arguments: call.arguments, flow }, 'salt')
      sawCall(trail, call.name, call.arguments)
      if (call.result_excerpt !== undefined)
        sawResult(trail, call.name, call.result_excerpt, { arguments: call.arguments, failed: call.error != null })
      for (const column of takeColumns(trail)) addColumns(of(column.tool), id, [column])
    }
  }
  return [...byTool.values()]
}

describe.skipIf(sharedData('gold-calls') === null)(`gold calls (${SHARED_DATA_MISSING})`, () => {
  test('learns the token references of API-Bank as refs', () => {
    const dialogues = readSharedLines<Gold>('gold-calls/api-bank.jsonl.gz')
    const drafts = draftContracts(learn(dialogues), { salt: 'salt', otherwise: 'block' })
    const contracts = new Map(drafts.map(({ contract }) => [contract.tool, contract]))
    expect(contracts.get('GetUserToken')?.binds).toEqual([
      { name: 'GetUserToken.token', from: 'output', path: '$.token' },
    ])
    const refers = (tool: string) =>
      contracts.get(tool)?.refs?.some(({ path, ref }) => path === '$.token' && ref === 'GetUserToken.token') === true
    const withToken = dialogues.flatMap(({ calls }) =>
      calls.filter(({ arguments: given }) => typeof given === 'object' && given !== null && 'token' in given),
    )
    expect(withToken.filter(({ name }) => refers(name))).toHaveLength(113)
  })

  test('replays BFCL multi-turn dialogues against what was learned from them', () => {
    const dialogues = readSharedLines<Gold>('gold-calls/bfcl-multi-turn.jsonl.gz')
    const drafts = draftContracts(learn(dialogues), { salt: 'salt', otherwise: 'ask' })
    const compiled = compilePlan({
      contracts: drafts.map(({ contract }) => ({ file: `${contract.tool}.json`, value: contract })),
    })
    if (!compiled.ok) throw new Error(JSON.stringify(compiled.errors))
    const verdicts = dialogues.flatMap(({ user_prompts, calls }) =>
      backtestSession(
        { user: user_prompts ?? [], turns: calls.map((call) => ({ calls: [call] })) },
        { plan: compiled.plan, unmatchedPolicy: 'block' },
      ),
    )
    expect(verdicts).toHaveLength(dialogues.reduce((sum, { calls }) => sum + calls.length, 0))
    const blocked = verdicts.filter(({ decision }) => decision === 'block')
    expect(new Set(blocked.flatMap(({ reasons }) => reasons.map(({ reason }) => reason)))).toEqual(
      blocked.length > 0 ? new Set(['checkpoint_budget_exceeded']) : new Set(),
    )
  })
})
