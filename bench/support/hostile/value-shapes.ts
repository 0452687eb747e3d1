import { randomUUID } from 'node:crypto'
import { collidingNumbers } from '../../../test/support/hostile/colliding-numbers.js'
import { createSession } from './attacker.js'
import { compiledOf, FIXED, many, type Shape } from './shape.js'

/** Numbers with as many digits as a double has, no two alike. */
const numbers = (count: number) => many(count, (at) => 1.2345678901234e-305 * (1 + at / 3))

/** A session at the level that stores most, and the response proposed five times. */
function proposing(
  compiled: ReturnType<typeof compiledOf>,
  response: object,
  about: object = {},
): ReturnType<Shape['build']> {
  return async (attacker) => {
    const session = await createSession(attacker, compiled, { capture_level: 'full', ...about })
    if (session === null) return
    const { session_id, fence } = session
    for (let round = 0; round < 5; round++) {
      const prepared_request_id = randomUUID()
      const asked = { prepared_request_id, fence, state_version: 0, tools: [{ name: 'act' }] }
      await attacker.post('preflight', asked, { session_id })
      await attacker.post('propose', { prepared_request_id, fence, response }, { session_id })
    }
  }
}

/** Ten plans that nobody has seen, each with the text. */
function uploading(contract: (at: number) => object): ReturnType<Shape['build']> {
  const plans = many(10, (at) =>
    compiledOf({ contracts: [{ tool: `${at}-${randomUUID()}`, ...FIXED, ...contract(at) }] }),
  )
  return async (attacker) => {
    for (const plan of plans) await createSession(attacker, plan)
  }
}

const call = (args: object) => ({ id: randomUUID(), name: 'act', arguments: JSON.stringify(args) })

const withPolicy = (condition: string) =>
  compiledOf({
    contracts: [{ tool: 'act', ...FIXED, policy: { cedar: `permit(principal,action,resource) when {${condition}};` } }],
  })

/** Values that take longer to read or write than their size shows. */
export const VALUE_SHAPES: readonly Shape[] = [
  {
    name: 'values: items below a very long name',
    build: () => {
      const rules = { refs: [{ path: '$.v.*[*]', ref: 'b' }], binds: [{ name: 'b', path: '$.x' }] }
      const compiled = compiledOf({ contracts: [{ tool: 'act', ...FIXED, ...rules }] })
      const args = JSON.stringify({ v: { ['"é'.repeat(16_000)]: many(20_000, () => 1) } })
      return proposing(compiled, { tool_calls: [{ id: 'c', name: 'act', arguments: args }] })
    },
  },
  {
    name: 'values: megabytes of numbers in what the provider ran',
    build: () => {
      const compiled = compiledOf({ contracts: [{ tool: 'act', ...FIXED }] })
      const text = JSON.stringify({ a: numbers(5_000) })
      const provider_run = many(30, (at) => ({
        type: 'web_search_call',
        name: 'search',
        id: `r${at}`,
        arguments: text,
      }))
      return proposing(compiled, { tool_calls: [], content: 'x', provider_run })
    },
  },
  {
    name: 'values: versions of what the provider ran',
    build: () => {
      const compiled = compiledOf({
        contracts: many(16, (at) => ({
          tool: `web_search_${20250101 + at}`,
          ...FIXED,
          labels: { adds: many(128, (label) => `label_${label}`) },
          aggregates: many(60, (of) => ({ name: `s${at * 60 + of}`, path: '$.n', function: 'sum', lte: 1e9 })),
        })),
      })
      const provider_run = many(64, (at) => ({
        type: 'web_search_call',
        name: 'web_search',
        id: `r${at}`,
        arguments: '{"n":1}',
      }))
      return proposing(compiled, { tool_calls: [], content: 'x', provider_run })
    },
  },
  {
    name: 'plans: repeats behind a quoted bracket',
    build: () => uploading((at) => ({ arguments: { pattern: `\\Q[\\E${'x{0,1000}'.repeat(440 - at)}` } })),
  },
  {
    name: 'plans: a long $id above many others',
    build: () =>
      uploading((at) => ({
        arguments: { $id: `x:/${'字'.repeat(60_000 - at)}`, allOf: many(1_800, (id) => ({ $id: `?${id}` })) },
      })),
  },
  {
    name: 'plans: classes of thousands of ranges, repeated',
    build: () => {
      const ranges = many(1_900, (at) => String.fromCharCode(0x4e00 + at * 2)).join('')
      return uploading((at) => ({ arguments: { pattern: `[${ranges}]{500}[${ranges}]{${20 + at}}` } }))
    },
  },
  {
    name: 'values: keys of shared limits that are full of marks',
    build: () => {
      const shared_limits = many(32, (at) => ({
        ...{ name: `m${at}`, tool: 'act', per: { argument: '$.k' }, max_calls: 1e9, window: '30d' },
      }))
      const compiled = compiledOf({ contracts: [{ tool: 'act', ...FIXED }], session: { shared_limits } })
      return proposing(compiled, { tool_calls: many(64, () => call({ k: '\u0f73'.repeat(1_024) })) })
    },
  },
  {
    name: 'values: different keys of many shared limits',
    build: () => {
      const shared_limits = many(32, (at) => ({
        ...{ name: `k${at}`, tool: 'act', per: { argument: '$.k' }, max_calls: 1e9, window: '30d' },
      }))
      const compiled = compiledOf({ contracts: [{ tool: 'act', ...FIXED }], session: { shared_limits } })
      return proposing(compiled, { tool_calls: many(64, () => call({ k: randomUUID() })) })
    },
  },
  {
    name: 'values: sets of records in a policy',
    build: () => {
      const records = many(328, (at) => `{"a":principal.x,"b":${at}}`).join(',')
      const deep = (depth: number): unknown => (depth === 0 ? 1 : [deep(depth - 1)])
      const principal = { id: 'p', x: many(60, () => deep(50)) }
      return proposing(withPolicy(`[${records}].isEmpty()`), { tool_calls: [call({ x: 1 })] }, { principal })
    },
  },
  {
    name: 'values: a pattern of like behind a comment',
    build: () =>
      proposing(
        withPolicy(`context.arguments.x like //\n"*${'a'.repeat(20_000)}b"`),
        { tool_calls: [call({ x: 'a'.repeat(45_000) })] },
        { principal: 'p' },
      ),
  },
  {
    name: 'values: a list of numbers that collide in a set',
    build: () => {
      const rule = { path: '$.v[*]', one_of: collidingNumbers(14_000) }
      const compiled = compiledOf({ contracts: [{ tool: 'act', ...FIXED, argument_value_invariants: [rule] }] })
      return proposing(compiled, { tool_calls: [call({ v: many(60_000, () => 7) })] })
    },
  },
  {
    name: 'values: ids of outputs that collide in a set',
    build: () => {
      const output = collidingNumbers(32_000).map((call_id) => ({ type: '_output', call_id }))
      const body = JSON.stringify({ prepared_request_id: 'p', fence: 1, response: { output } })
      return async (attacker) => {
        for (let round = 0; round < 8; round++) await attacker.post('propose', body, { session_id: 'none' })
      }
    },
  },
  {
    name: 'values: texts that policies take for decimals',
    build: () => {
      const cedar = 'permit(principal,action,resource)when{decimal(context.arguments.x)};'.repeat(195)
      const compiled = compiledOf({ contracts: [{ tool: 'act', ...FIXED, policy: { cedar } }] })
      return proposing(compiled, { tool_calls: [call({ x: '"'.repeat(60_000) })] }, { principal: 'p' })
    },
  },
  {
    name: 'stranger: bodies that come byte by byte',
    build: () => {
      const head =
        'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
      const bytes = '1\r\n \r\n'.repeat(200_000)
      return async (attacker) => {
        for (let round = 0; round < 10; round++) {
          const sockets = await Promise.all(many(8, () => attacker.socket()))
          for (const socket of sockets) socket?.on('error', () => {}).write(head + bytes)
          await new Promise((done) => setTimeout(done, 500))
        }
      }
    },
  },
]
