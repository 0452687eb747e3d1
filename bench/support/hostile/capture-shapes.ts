import { randomUUID } from 'node:crypto'
import { capturesOf } from '../../../test/support/data/captures.js'
import type { Attacker } from './attacker.js'
import { compiledOf, FIXED, many, type Shape } from './shape.js'

const MEGABYTE = 1024 * 1024

const captureItem = (args: unknown, calls: number, given: object = {}) => {
  const [model] = capturesOf('hostile', 'go', [{ name: 'act', args: {} }])
  const text = JSON.stringify(args)
  return {
    ...model,
    ...given,
    capture_id: randomUUID(),
    conversation_id: randomUUID(),
    response: {
      tool_calls: many(calls, (at) => ({ id: `c${at}`, name: 'act', arguments: text })),
      content: null,
      finish_reason: 'tool_calls',
    },
  }
}

const captureBodies = (count: number, itemsOf: (body: number) => object[]) =>
  many(count, (body) => JSON.stringify({ captures: itemsOf(body) }))

const sendingCaptures = (bodies: readonly string[]) => async (attacker: Attacker) => {
  await Promise.all(bodies.map((body) => attacker.post('ingestCaptures', body)))
}

/** About as many bytes of arguments as one capture may have. */
const wideArguments = (seed: number, calls: number) => ({
  rows: many(Math.floor((MEGABYTE * 0.9) / calls / 40), (at) => ({ id: `row-${seed}-${at}`, n: at * seed })),
})

/** What is learned from, and what plans are run against. */
export const CAPTURE_SHAPES: readonly Shape[] = [
  {
    name: 'captures: 28 bodies of 4 MB',
    lingerSeconds: 20,
    build: () =>
      sendingCaptures(captureBodies(28, (body) => many(4, (at) => captureItem(wideArguments(body * 4 + at, 16), 16)))),
  },
  {
    name: 'captures: long lists of distinct texts',
    lingerSeconds: 15,
    build: () =>
      sendingCaptures(
        captureBodies(20, (body) =>
          many(4, (at) => captureItem({ list: many(60_000, (row) => `${body}${at}${row}`) }, 1)),
        ),
      ),
  },
  {
    name: 'captures: many tools with large schemas',
    lingerSeconds: 10,
    build: () =>
      sendingCaptures(
        captureBodies(20, (body) =>
          many(4, () =>
            captureItem({}, 1, {
              request: {
                tools: many(500, (at) => ({
                  name: `tool_${body}_${at}`,
                  schema: { description: 'x'.repeat(1_500), at },
                })),
              },
            }),
          ),
        ),
      ),
  },
  {
    name: 'captures: every column and every source that fits',
    lingerSeconds: 15,
    build: () => {
      const sources = many(12, (at) => ({ seen: 'line', tool: `t${at}`, path: `$.a[*].b${at}` }))
      const leaves = many(200, (at) => ({ path: `$.rows[*].c${at}`, kind: 'id', sources }))
      const calls = many(4, (at) => ({ call_id: `c${at}`, tool: 'act', leaves, prior_tools: [], prior_calls: 0 }))
      const columns = many(512, (at) => ({
        tool: `t${at % 9}`,
        path: `$.rows[*].c${at}`,
        place: 'cell',
        holds: ['id'],
      }))
      return sendingCaptures(
        captureBodies(10, () =>
          many(3, () => captureItem({ rows: many(300, (at) => ({ c: at })) }, 4, { flows: { calls, columns } })),
        ),
      )
    },
  },
  {
    name: 'run: a costly plan against costly captures',
    lingerSeconds: 20,
    build: () => {
      const bodies = captureBodies(6, (body) => many(4, (at) => captureItem(wideArguments(body * 4 + at, 8), 8)))
      const rules = many(200, () => ({ path: '$..id', not_one_of: many(40, (at) => ({ a: at })) }))
      const plan = compiledOf({ contracts: [{ tool: 'act', ...FIXED, argument_value_invariants: rules }] })
      return async (attacker) => {
        await Promise.all(bodies.map((body) => attacker.post('ingestCaptures', body)))
        const { compiled_session } = plan
        for (let run = 0; run < 4; run++)
          await attacker.post('createRun', {
            run_id: randomUUID(),
            plan: { compiled_session },
            against: { agent: 'hostile' },
          })
      }
    },
  },
  {
    name: 'run: 4 MB of fixtures',
    build: () => {
      const rules = many(100, () => ({ path: '$..id', not_one_of: many(40, (at) => ({ a: at })) }))
      const { compiled_session } = compiledOf({
        contracts: [{ tool: 'act', ...FIXED, argument_value_invariants: rules }],
      })
      const call = { name: 'act', arguments: { rows: many(1_500, (at) => ({ id: at })) } }
      const fixtures = many(30, (at) => ({ name: `f${at}`, turns: many(4, () => ({ calls: [call] })) }))
      const body = () => JSON.stringify({ run_id: randomUUID(), plan: { compiled_session }, against: { fixtures } })
      return async (attacker) => {
        await Promise.all(many(6, () => attacker.post('createRun', body())))
      }
    },
  },
]
