import { createRequire } from 'node:module'
import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { createCedarInstance, parsedSets } from './cedar-instance.js'
import { type CedarModule, loadCedar } from './cedar-module.js'
import { policyWeight } from './cedar-text.js'

/** A module that keeps what it was given, as Cedar does. */
function keeping(parse: (policy: string) => void = () => {}) {
  const sets = new Map<string, string>()
  const module: CedarModule = {
    preparsePolicySet(id, { staticPolicies }) {
      parse(staticPolicies)
      sets.set(id, staticPolicies)
      return { type: 'success' }
    },
    statefulIsAuthorized: () => ({ type: 'failure', errors: [] }),
  }
  return { module, sets, held: () => [...sets.values()].filter((policy) => policy !== '') }
}

const policyOf = (values: number, at: number) =>
  `permit(principal,action,resource)when{[${at}${',{a:{a:{a:1}}}'.repeat(values)}]==1};`

proves('limit.policy-memory', 'what was used longest ago is given up, by bytes', () => {
  const { module, sets, held } = keeping()
  const large = Array.from({ length: 40 }, (_, at) => policyOf(200, at + 10))
  const kept = policyWeight(large[0] as string) * 3
  const { idOf, keptBytes } = parsedSets(module, kept)
  const small = policyOf(0, 1)
  for (const policy of large) {
    expect(sets.get(idOf(policy))).toBe(policy)
    expect(sets.get(idOf(small))).toBe(small)
    expect(held().reduce((sum, text) => sum + policyWeight(text), 0)).toBe(keptBytes())
    expect(keptBytes()).toBeLessThanOrEqual(kept)
  }
  // The small one, which is used all the time, and the last two.
  expect(held()).toHaveLength(3)
  expect(sets.size).toBeLessThanOrEqual(5)
})

proves('limit.policy-memory', "Cedar's memory grows by no more than was counted", () => {
  const require = createRequire(import.meta.url)
  const { Instance } = WebAssembly
  let memory = new WebAssembly.Memory({ initial: 0 })
  WebAssembly.Instance = function made(...given: ConstructorParameters<typeof Instance>) {
    const instance = new Instance(...given)
    memory = instance.exports.memory as WebAssembly.Memory
    return instance
  } as unknown as typeof Instance
  let module: CedarModule
  try {
    module = loadCedar(require)
  } finally {
    WebAssembly.Instance = Instance
  }
  const kept = 8 * 1024 * 1024
  const { idOf } = parsedSets(module, kept)
  const before = memory.buffer.byteLength
  for (let at = 0; at < 40; at++) idOf(policyOf(280, at))
  expect(memory.buffer.byteLength - before).toBeGreaterThan(kept / 4)
  // And what parsing one needs meanwhile.
  expect(memory.buffer.byteLength - before).toBeLessThan(kept * 1.5)
})

proves('isolation.policy-trap', 'a policy is not blamed for what others did to the module', () => {
  let traps = 0
  let loads = 0
  const instance = createCedarInstance(() => {
    let parsed = 0
    loads++
    return keeping((policy) => {
      // Its memory is full, say.
      if (++parsed <= 2 && !policy.includes('trap')) return
      traps++
      throw new RangeError('no memory')
    }).module
  })
  const use = (policy: string) => instance.use(policy, ({ idOf }) => idOf(policy))
  for (const name of ['a', 'b', 'c', 'd', 'e', 'c', 'e']) expect(use(`permit ${name}`)).toContain('countersign')
  expect(traps).toBe(2)
  for (let time = 0; time < 3; time++) expect(() => use('permit trap')).toThrow('split')
  expect(traps).toBe(4)
  expect(use('permit a')).toContain('countersign')
  expect(loads).toBe(5)
})
