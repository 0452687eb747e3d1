import { compilePlan, describeNote, type Plan, validateResponse } from '@countersign/engine'
import type { JsonObject } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { describeShared } from '../support/data/describe-shared.js'
import { closeSchema, MUTATIONS, type Mutation } from '../support/data/mutate-arguments.js'
import { seededRandom } from '../support/data/random.js'
import { readSharedJson, readSharedLines } from '../support/data/shared-data.js'

interface Tool {
  name: string
  parameters: JsonObject
}

const CALLS = 'gold-calls/bfcl-multi-turn.jsonl.gz'
const TOOLS = 'gold-calls/bfcl-multi-turn-tools.json'
const SEED = 20_260_102

describeShared('contracts from the tools of BFCL', CALLS, () => {
  const tools = readSharedJson<Tool[]>(TOOLS)
  const rows = readSharedLines<{ calls: { name: string; arguments: JsonObject }[] }>(CALLS)
  const calls = rows.flatMap((row) => row.calls)
  const plan = compile(tools)

  test('one plan holds them all', () => {
    expect(plan.contracts.size).toBe(new Set(tools.map(({ name }) => name)).size)
    expect(plan.contracts.size).toBeGreaterThan(100)
  })

  test('accept the gold calls, but for those that break their own schema', () => {
    const failed = calls.filter((call) => !passes(plan, call.name, call.arguments))
    expect(calls.length).toBeGreaterThan(1_000)
    expect(failed.map(({ name }) => name).sort()).toEqual(AGAINST_THEIR_SCHEMA)
  })

  // None of these tools lists the values of an argument.
  const names = Object.keys(MUTATIONS).filter((name) => name !== 'out of enum')

  test.each(names)('block at least 95 %% of the mutants: %s', (name) => {
    const mutate = MUTATIONS[name] as Mutation
    const random = seededRandom(SEED)
    let made = 0
    let blocked = 0
    for (const { name: tool, arguments: args } of calls) {
      const schema = plan.contracts.get(tool)?.definition.arguments
      const mutant = mutate(args, schema as JsonObject, random)
      if (mutant === null || !passes(plan, tool, args)) continue
      made++
      if (!passes(plan, tool, mutant)) blocked++
    }
    expect(made).toBeGreaterThan(500)
    expect(blocked / made).toBeGreaterThanOrEqual(0.95)
  })
})

function compile(tools: readonly Tool[]): Plan {
  const unique = new Map(tools.map((tool) => [tool.name, tool]))
  const result = compilePlan({
    contracts: [...unique.values()].map(({ name, parameters }) => ({
      file: `${name}.yaml`,
      value: { tool: name, arguments: closeSchema(parameters) },
    })),
  })
  if (!result.ok) throw new Error(result.errors.map(describeNote).join('\n'))
  return result.plan
}

function passes(plan: Plan, name: string, args: JsonObject): boolean {
  const response = { tool_calls: [{ id: 'c', name, arguments: JSON.stringify(args) }] }
  return validateResponse(response, plan, { unmatched: 'deny' }).pass
}

/** See gold-calls.test.ts for what is wrong with each. */
const AGAINST_THEIR_SCHEMA = ['close_ticket']
