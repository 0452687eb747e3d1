import type { JsonValue } from '@countersign/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { flowOf } from '../flows/flows.js'
import { newTrail, sawCall, sawResult, sawUser, takeColumns } from '../flows/trail.js'
import { canonicalJson } from '../json/canonical-json.js'
import { compileSchema } from '../json/schema/json-schema.js'
import { draftContracts } from './draft.js'
import { addCall, addColumns, mergeSummaries, newSummary, type ToolSummary } from './summary.js'

/** `round` makes another request of the same words. */
type Lesson = (byTool: Map<string, ToolSummary>, round?: number) => void

const text = fc.constantFrom(
  'Alice',
  'Bob',
  'a@x.org',
  'www.x.org',
  'DE8937040044',
  '7',
  '2024-01-02',
  'Pay the rent now, please.',
  '',
)
const value: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    text,
    fc.string(),
    fc.integer({ min: -5, max: 1_000 }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('to', 'body', 'amount', 'id', 'Alice', '12345'), tie('value'), { maxKeys: 4 }),
  ),
})).value
const tool = fc.constantFrom('send', 'get_people', 'delete')
const call = fc.record({
  tool,
  arguments: fc.dictionary(fc.constantFrom('to', 'body', 'amount', 'ids'), value),
  result: value,
})
const session = fc.record({ id: fc.uuid(), user: text, calls: fc.array(call, { minLength: 1, maxLength: 5 }) })
const sessions = fc.uniqueArray(session, { minLength: 1, maxLength: 8, selector: ({ id }) => id })
interface Session {
  id: string
  user: string
  calls: { tool: string; arguments: Record<string, JsonValue>; result: JsonValue }[]
}

/** One lesson a call, as captures arrive one by one. */
function lessonsOf({ id, user, calls }: Session): Lesson[] {
  const trail = newTrail()
  sawUser(trail, user)
  return calls.map((made) => {
    const flow = flowOf(trail, { id: '', tool: made.tool, arguments: made.arguments })
    sawCall(trail, made.tool, made.arguments)
    sawResult(trail, made.tool, made.result, made)
    const columns = takeColumns(trail)
    return (byTool, round = 0) => {
      addCall(
        of(byTool, made.tool),
        { session: `${id} ${round}`, request: `${user} ${round}`, tool: made.tool, arguments: made.arguments, flow },
        'salt',
      )
      for (const column of columns) addColumns(of(byTool, column.tool), `${id} ${round}`, [column])
    }
  })
}

function of(byTool: Map<string, ToolSummary>, name: string): ToolSummary {
  const summary = byTool.get(name) ?? newSummary(name)
  byTool.set(name, summary)
  return summary
}

function learned(lessons: readonly Lesson[], rounds = 1): Map<string, ToolSummary> {
  const byTool = new Map<string, ToolSummary>()
  for (let round = 0; round < rounds; round++) for (const lesson of lessons) lesson(byTool, round)
  return byTool
}

/** A summary as the database stores it. */
const written = (byTool: ReadonlyMap<string, ToolSummary>): string =>
  canonicalJson([...byTool].sort(([a], [b]) => (a < b ? -1 : 1)) as unknown as JsonValue)

describe('a summary', () => {
  test('is the same in any order of captures', () => {
    fc.assert(
      fc.property(sessions, fc.infiniteStream(fc.nat()), (all, order) => {
        const lessons = all.flatMap(lessonsOf)
        const keyed = lessons.map((lesson) => ({ lesson, key: order.next().value as number }))
        const other = keyed.sort((a, b) => a.key - b.key).map(({ lesson }) => lesson)
        expect(written(learned(other))).toBe(written(learned(lessons)))
      }),
      { numRuns: 60 },
    )
  })

  test('is the same however the captures were split before merging, and gives the same draft', () => {
    fc.assert(
      fc.property(sessions, fc.infiniteStream(fc.nat({ max: 2 })), (all, where) => {
        const lessons = all.flatMap(lessonsOf)
        const parts: Lesson[][] = [[], [], []]
        for (const lesson of lessons) parts[where.next().value as number]?.push(lesson)
        const merged = new Map<string, ToolSummary>()
        for (const part of parts) {
          for (const [name, summary] of learned(part)) {
            const known = merged.get(name)
            merged.set(name, known === undefined ? summary : mergeSummaries(known, summary))
          }
        }
        const whole = learned(lessons)
        expect(written(merged)).toBe(written(whole))
        const options = { salt: 'salt', otherwise: 'block' as const }
        expect(draftContracts([...merged.values()], options)).toEqual(draftContracts([...whole.values()], options))
      }),
      { numRuns: 60 },
    )
  })

  // Seldom, and often enough for enums, ranges and spellings to be enforced.
  test.each([
    { rounds: 1, numRuns: 25 },
    { rounds: 240, numRuns: 4 },
  ])(
    'drafts argument schemas that accept every capture they were learned from, $rounds times',
    ({ rounds, numRuns }) => {
      fc.assert(
        fc.property(sessions, (all) => {
          const lessons = all.flatMap(lessonsOf)
          const drafts = draftContracts([...learned(lessons, rounds).values()], {
            salt: 'salt',
            otherwise: 'block',
          })
          for (const { contract } of drafts) {
            if (contract.arguments === undefined) continue
            const schema = compileSchema(contract.arguments as JsonValue)
            if (!schema.ok) throw new Error(`${schema.problem}: ${JSON.stringify(contract.arguments)}`)
            for (const made of all.flatMap(({ calls }) => calls)) {
              if (made.tool === contract.tool) expect(schema.validate(made.arguments as JsonValue)).toEqual([])
            }
          }
        }),
        { numRuns },
      )
    },
  )

  test('stays small however much it is taught', () => {
    const byTool = new Map<string, ToolSummary>()
    let at = 1_000
    for (let round = 0; round < 3_000; round++) {
      const made = {
        tool: 'send',
        arguments: { [`field${round}`]: `v${round}`, to: `u${round}@x.org` },
        result: { [`f${round % 90}`]: round },
      }
      for (const lesson of lessonsOf({ id: `s${round}`, user: `ask ${round} for u${round}@x.org`, calls: [made] }))
        lesson(byTool)
      if (round === 1_000) at = written(byTool).length
    }
    expect(written(byTool).length).toBeLessThan(1.2 * at)
    expect(written(byTool).length).toBeLessThan(256 * 1024)
  })
})
