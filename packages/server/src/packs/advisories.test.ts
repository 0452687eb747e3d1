import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { comparePlans } from './compare-plans.js'
import { compilePack } from './compile-pack.js'
import { judgePlayground } from './judge-playground.js'

const TOOLS = 64

/** Each tool requires forty others, and each pair is worth an advisory. */
const chain = Array.from({ length: TOOLS }, (_, at) => ({
  file: `t${at}.yaml`,
  text: [
    `tool: t${at}`,
    'side_effect: read',
    'preconditions:',
    ...Array.from({ length: 40 }, (_, step) => `  - requires_prior_tool: t${(at + step + 1) % TOOLS}`),
  ].join('\n'),
}))

proves('limit.plan-advisories', async () => {
  const pack = await compilePack(chain)
  if (!pack.ok) throw new Error(JSON.stringify(pack.errors))
  const { advisories } = comparePlans({ pack, running: null, learned: [] })
  const reported = advisories.filter(({ code }) => code === 'opens_on_report')
  expect(reported).toHaveLength(101)
  expect(reported.at(-1)).toEqual({
    tool_name: null,
    code: 'opens_on_report',
    message: '2460 more of the kind opens_on_report are not listed',
  })
})

/** Each call denies every later one, which is worth a warning. */
const denying = Array.from({ length: 120 }, (_, at) => ({
  file: `t${at}.yaml`,
  text: `tool: t${at}\nside_effect: read\nlabels: { adds: [a], deny_when: [a] }\n`,
}))

proves('limit.plan-advisories', 'those of the compiler too, and the warnings of the playground', async () => {
  const pack = await compilePack(denying)
  const { length } = pack.ok ? pack.advisories : []
  expect(length).toBe(101)
  const body = { contracts: denying, response: { tool_calls: [] }, labels: [], unmatched_policy: 'block' as const }
  const { warnings } = await judgePlayground({ body, now: new Date() })
  expect(warnings).toHaveLength(101)
  expect(warnings.at(-1)?.message).toBe('from here on 20 more warnings are not listed')
})
