import type { CompiledContract } from '@countersign/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import type { Plan } from '../contract/plan.js'
import { compilePlan } from './compile-plan.js'
import { planWarnings } from './plan-warnings.js'
import { prepareKept } from './prepare-kept.js'
import { readSource } from './read-source.js'

const many = <Item>(count: number, make: (at: number) => Item): Item[] =>
  Array.from({ length: count }, (_, at) => make(at))

/** The parts of a prepared plan that the warnings read. `requires`: for each tool, those that it requires. */
function warningsOf(requires: readonly (readonly number[])[], forbiddenBy: Plan['forbiddenBy'] = new Map()) {
  const contracts = requires.map((needed, at) => ({
    tool: `t${at}`,
    definition: {},
    preconditions: needed.map((other) => ({ kind: 'tool', tool: `t${other}`, when: [] })),
  }))
  const plan = {
    contracts: new Map(contracts.map((contract) => [contract.tool, contract])),
    phases: null,
    forbiddenBy,
    session: {},
  } as unknown as Plan
  const sources = contracts.map(({ tool }) => ({
    source: { file: tool, isFile: false, value: {}, lineAt: () => null },
    compiled: { tool } as CompiledContract,
  }))
  return planWarnings(plan, sources, null)
}

/** Each takes a fraction of a second, and would take minutes if it were quadratic. Busy cores have a lot of room. */
const MOST_MS = 60_000

proves(
  'limit.plan-warnings',
  'a circle or chain of thousands of tools is walked once',
  () => {
    const size = 20_000
    expect(warningsOf(many(size, (at) => [(at + 1) % size])).length).toBe(size)
    expect(warningsOf(many(size, (at) => (at + 1 === size ? [] : [at + 1])))).toEqual([])
    const forbidding = new Map([['t0', new Set(many(size, (at) => `u${at}`))]])
    expect(warningsOf([many(size, (at) => at + 1)], forbidding)).toEqual([])
  },
  MOST_MS,
)

test('a tool that requires itself through others is warned about, and no other', () => {
  const graph = fc.array(fc.array(fc.nat(6), { maxLength: 3 }), { minLength: 7, maxLength: 7 })
  fc.assert(
    fc.property(graph, (requires) => {
      const walked = requires.flatMap((first, at) => {
        const needed = new Set(first)
        for (const other of needed) for (const next of requires[other] ?? []) needed.add(next)
        return needed.has(at) ? [`t${at}`] : []
      })
      expect(warningsOf(requires).map(({ file }) => file)).toEqual(walked)
    }),
  )
})

proves(
  'limit.plan-warnings',
  'the line of each of thousands of keys of one map is looked up',
  () => {
    const reading = readSource({ file: 'a.yaml', text: many(5_000, (at) => `k${at}: ${at}\n`).join('') })
    if (!reading.ok) throw new Error(JSON.stringify(reading.notes))
    const { lineAt } = reading.source
    expect(many(5_000, (at) => lineAt([`k${at}`]))).toEqual(many(5_000, (at) => at + 1))
    expect(lineAt(['other'])).toBe(1)
    // To look through all keys each time would take more than a minute.
    let found = 0
    for (let note = 0; note < 500_000; note++) if (lineAt(['k4999']) === 5_000) found++
    expect(found).toBe(500_000)
  },
  MOST_MS,
)

proves('limit.plan-warnings', 'names that are kept per key share a place by name and key', () => {
  const ref = (name: string, key: string) => ({ path: '$.a', ref: name, key })
  const refs = [ref('a', '$.k'), ref('b', '$.k'), ref('a', '$.l'), ref('a', '$.k'), ref('a","b', '$.k')]
  const kept = prepareKept({ refs } as unknown as CompiledContract, new Set(), () => {})
  expect(kept.refs.map(({ slot }) => slot)).toEqual([0, 1, 2, 0, 3])
})

test('a tool that moves to a phase no allowed phase leads to is warned about; one allowed in every phase is not', () => {
  const session = {
    phases: [{ name: 'a', initial: true }, { name: 'b' }, { name: 'c', terminal: true }],
    transitions: { a: ['b'], b: ['c'] },
  }
  const warnings = (transitions: object) => {
    const result = compilePlan({
      contracts: [{ file: 't.yaml', value: { tool: 't', transitions } }],
      session: { file: 'session.yaml', value: session },
    })
    return result.ok ? result.warnings.map(({ message }) => message) : result.errors
  }
  expect(warnings({ advances_to: 'c', valid_in_phases: ['a'] })).toEqual(['no phase that allows the tool leads to "c"'])
  expect(warnings({ advances_to: 'c', valid_in_phases: ['b'] })).toEqual([])
  expect(warnings({ advances_to: 'a' })).toEqual([])
})
