import { randomUUID } from 'node:crypto'
import type { Contract } from '@countersign/protocol'
import { type HostileRequest, responseOf } from '../../../test/support/hostile/request.js'
import { createSession } from './attacker.js'
import { FAMILIES } from './families.js'
import { FOUND, KNOWN } from './found.js'
import { compiledOf, FIXED, many, type Shape } from './shape.js'

/** A session with the plan, and the response proposed three times. */
function proposing(request: HostileRequest): ReturnType<Shape['build']> {
  const compiled = compiledOf(request)
  const { flows, principal } = request
  const response = JSON.stringify(responseOf(request))
  const tools = request.contracts.slice(0, 512).map(({ tool }) => ({ name: tool }))
  return async (attacker) => {
    const session = await createSession(attacker, compiled, principal === undefined ? {} : { principal })
    if (session === null) return
    const { session_id, fence } = session
    for (let round = 0; round < 3; round++) {
      const prepared_request_id = randomUUID()
      const asked = { prepared_request_id, fence, state_version: 0, tools }
      await attacker.post('preflight', asked, { session_id })
      const rest = JSON.stringify({ prepared_request_id, fence, flows }).slice(0, -1)
      await attacker.post('propose', `${rest},"response":${response}}`, { session_id })
    }
  }
}

/** As many sessions as the free quota gives in one go: all of them ask at once, then all propose at once. */
function inOneGo(request: HostileRequest): ReturnType<Shape['build']> {
  const compiled = compiledOf(request)
  const response = responseOf(request)
  const tools = request.contracts.slice(0, 512).map(({ tool }) => ({ name: tool }))
  return async (attacker) => {
    const made = await Promise.all(many(14, () => createSession(attacker, compiled, { principal: 'p' })))
    const turns = made
      .filter((session) => session !== null)
      .map((session) => ({ ...session, prepared_request_id: randomUUID() }))
    await Promise.all(
      turns.map(({ session_id, fence, prepared_request_id }) =>
        attacker.post('preflight', { prepared_request_id, fence, state_version: 0, tools }, { session_id }),
      ),
    )
    await Promise.all(
      turns.map(({ session_id, fence, prepared_request_id }) =>
        attacker.post('propose', { prepared_request_id, fence, response }, { session_id }),
      ),
    )
  }
}

const smallSchemas = (plan: number): Contract[] =>
  many(60, (at) => ({
    tool: `t${at}`,
    ...FIXED,
    arguments: { properties: Object.fromEntries(many(8, (row) => [`p${row}`, { const: `${plan}-${row}` }])) },
  }))

const byGenes = [...KNOWN, ...FOUND].map(
  ({ family, genes }): Shape => ({
    name: `${family}: ${Object.entries(genes)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ')}`,
    build: () => {
      const request = FAMILIES.find(({ name }) => name === family)?.build(genes)
      if (request === undefined) throw new Error(`no family ${family}`)
      return proposing(request)
    },
  }),
)

/** Plans, and responses that are judged by them. */
export const PLAN_SHAPES: readonly Shape[] = [
  ...byGenes,
  {
    name: 'turns: 14 at once of a policy on 512 tools',
    build: () => {
      const policy = `permit(principal, action, resource) unless { ${many(40, (at) => `context.arguments.a == "${at}"`).join(' || ')} };`
      const contracts = many(512, (at) => ({ tool: `t${at}`, ...FIXED, policy: { cedar: policy } }))
      const calls = many(24, (at) => ({ name: `t${at}`, args: { a: 'b'.repeat(2_000) } }))
      return inOneGo({ contracts, calls })
    },
  },
  {
    name: 'turns: 14 at once of 14 calls and a policy of 168 statements',
    build: () => {
      const request = FAMILIES.find(({ name }) => name === 'policies')?.build({
        ...{ policy: 4, value: 7, terms: 168, size: 15, calls: 14 },
      })
      if (request === undefined) throw new Error('no policies')
      return inOneGo(request)
    },
  },
  {
    name: 'turns: a large proposal that comes again and again',
    build: () => {
      const compiled = compiledOf({ contracts: [{ tool: 'act', ...FIXED }] })
      const args = { rows: many(4_000, (at) => ({ id: `row-${at}`, n: at })) }
      const response = responseOf({ contracts: [], calls: many(24, () => ({ name: 'act', args })) })
      return async (attacker) => {
        const session = await createSession(attacker, compiled)
        if (session === null) return
        const { session_id, fence } = session
        const prepared_request_id = randomUUID()
        const asked = { prepared_request_id, fence, state_version: 0, tools: [{ name: 'act' }] }
        await attacker.post('preflight', asked, { session_id })
        const body = JSON.stringify({ prepared_request_id, fence, response })
        await attacker.post('propose', body, { session_id })
        await Promise.all(many(14, () => attacker.post('propose', body, { session_id })))
      }
    },
  },
  {
    name: 'plans: texts that Cedar and RE2 read for long',
    build: () => {
      const wrong = (sign: string) =>
        `permit(principal,action,resource) when { context.arguments.a == "${sign.repeat(30_000)}" };`
      const plans = many(10, (plan) => [
        compiledOf({ contracts: [{ tool: `t${plan}`, ...FIXED, policy: { cedar: wrong('\r') } }] }),
        compiledOf({
          contracts: many(20, (at) => ({
            tool: `t${at}`,
            ...FIXED,
            argument_value_invariants: [{ path: '$.a', regex: `(?i)[${'\\pL'.repeat(1_300)}${plan}]` }],
          })),
        }),
      ]).flat()
      return async (attacker) => {
        await Promise.all(plans.map((plan) => createSession(attacker, plan)))
      }
    },
  },
  {
    name: 'plans: ten that are refused late',
    build: () => {
      const plans = many(10, (plan) =>
        compiledOf({
          contracts: [
            ...many(300, (at) => ({
              tool: `t${at}`,
              ...FIXED,
              argument_value_invariants: many(6, (row) => ({ path: '$.a', regex: `[a-d]{1,${300 + row}}x${plan}` })),
            })),
            { tool: 'last', ...FIXED, transitions: { advances_to: 'nowhere' } },
          ],
        }),
      )
      return async (attacker) => {
        await Promise.all(plans.map((plan) => createSession(attacker, plan)))
      }
    },
  },
  {
    name: 'plans: ten with thousands of rules about one tool',
    build: () => {
      const plans = many(10, (plan) =>
        compiledOf({
          contracts: [
            ...many(5, (at) => ({
              tool: `t${at}`,
              ...FIXED,
              preconditions: many(2_000, (row) => ({
                requires_prior_tool: 'last',
                same: [{ path: '$.a', as: `$.b${plan}_${at}_${row}` }],
              })),
            })),
            {
              tool: 'last',
              ...FIXED,
              aggregates: many(2_000, (row) => ({ name: `n${row}`, function: 'count' as const, lte: 5 })),
            },
          ],
        }),
      )
      return async (attacker) => {
        await Promise.all(plans.map((plan) => createSession(attacker, plan)))
      }
    },
  },
  {
    name: 'reads: ledgers whose plan is full of digits',
    build: () => {
      const digits = `${'1'.repeat(308)} `.repeat(400)
      const compiled = compiledOf({
        contracts: many(7, (at) => ({ tool: `t${at}`, ...FIXED, arguments: { description: digits } })),
      })
      return async (attacker) => {
        const session = await createSession(attacker, compiled)
        if (session === null) return
        const path = `/api/v1/sessions/${session.session_id}/events`
        for (let round = 0; round < 5; round++) await Promise.all(many(20, () => attacker.send('GET', path)))
      }
    },
  },
  {
    name: 'plans: 30 of many small schemas',
    tenants: 4,
    build: () => {
      const plans = many(30, (plan) => compiledOf({ contracts: smallSchemas(plan + Math.random()) }))
      return async (attacker) => {
        for (const plan of plans) await createSession(attacker, plan)
      }
    },
  },
  {
    name: 'plans: packs of 512 files to compare',
    build: () => {
      const files = many(500, (at) => ({
        file: `t${at}.yaml`,
        text: `tool: t${at}\nside_effect: read\narguments:\n  properties:\n${many(40, (row) => `    p${row}: { type: string, maxLength: ${row + at} }`).join('\n')}\n`,
      }))
      const body = JSON.stringify({ agent: 'hostile', environment: 'staging', files })
      return async (attacker) => {
        await Promise.all(many(10, () => attacker.post('diffPlan', body)))
      }
    },
  },
  {
    name: 'plans: packs of long YAML',
    build: () => {
      const list = many(65_000, (at) => at % 10).join(', ')
      const texts = [
        `{tool: t, argument_value_invariants: [{path: $.a, one_of: [${list}]}]}`,
        `tool: t\n${'}'.repeat(190_000)}`,
        `tool: t\n${'a: 1\n'.repeat(39_000)}`,
      ]
      const bodies = texts.map((text) => ({
        agent: 'hostile',
        environment: 'staging',
        files: [{ file: 't.yaml', text }],
      }))
      return async (attacker) => {
        await Promise.all(many(12, (at) => attacker.post('diffPlan', bodies[at % bodies.length])))
      }
    },
  },
  {
    name: 'plans: a chain of 512 contracts to analyse',
    build: () => {
      const files = many(512, (at) => ({
        file: `t${at}.yaml`,
        text: `tool: t${at}\nside_effect: read\npreconditions:\n${many(40, (step) => `  - requires_prior_tool: t${(at + step + 1) % 512}`).join('\n')}\n`,
      }))
      const body = JSON.stringify({ agent: 'hostile', environment: 'staging', files })
      return async (attacker) => {
        await Promise.all(many(8, () => attacker.post('diffPlan', body)))
      }
    },
  },
  {
    name: 'sessions: large rows',
    build: () => {
      const bindings = many(60, (at) => ({ name: `b${at}`, from: 'argument' as const, path: `$.p${at}` }))
      const compiled = compiledOf({ contracts: [{ tool: 'act', ...FIXED, binds: bindings }] })
      const args = Object.fromEntries(many(60, (at) => [`p${at}`, 'x'.repeat(2_000)]))
      const response = responseOf({ contracts: [], calls: [{ name: 'act', args }] })
      return async (attacker) => {
        for (let made = 0; made < 10; made++) {
          const session = await createSession(attacker, compiled)
          if (session === null) return
          const { session_id, fence } = session
          const prepared_request_id = randomUUID()
          await attacker.post(
            'preflight',
            { prepared_request_id, fence, state_version: 0, tools: [{ name: 'act' }] },
            { session_id },
          )
          const { body, status } = await attacker.post(
            'propose',
            { prepared_request_id, fence, response },
            { session_id },
          )
          if (status !== 200) continue
          const receipts = JSON.parse(body).decisions.flatMap(
            (decision: { pending_call_id: string | null; argument_hash: string }) =>
              decision.pending_call_id === null
                ? []
                : [
                    {
                      pending_call_id: decision.pending_call_id,
                      argument_hash: decision.argument_hash,
                      outcome: 'succeeded',
                      evidence_level: 'reported',
                    },
                  ],
          )
          await attacker.post('submitReceipts', { fence, receipts }, { session_id })
        }
      }
    },
  },
]
