import type { CedarModule } from './cedar-module.js'

/** A Cedar module that is replaced when it traps. */
export interface CedarInstance {
  /** Does something for a policy. If that traps, the module is thrown away and the policy is not asked again. */
  use<Result>(policy: string, work: (use: { cedar: CedarModule; idOf(policy: string): string }) => Result): Result
}

/** Cedar caches what it parsed under a name, for the life of the instance. At most this many names are used at once. */
const MAX_PARSED_SETS = 256
const MAX_TRAPPING = 1_024

export function createCedarInstance(load: () => CedarModule): CedarInstance {
  let current: { cedar: CedarModule; idOf(policy: string): string } | null = null
  const trapping = new Set<string>()
  return {
    use(policy, work) {
      if (trapping.has(policy)) throw new Error(TRAPPED)
      if (current === null) {
        const cedar = load()
        current = { cedar, idOf: parsedSets(cedar) }
      }
      try {
        return work(current)
      } catch (error) {
        if (!isTrap(error)) throw error
        // Its memory is in an unknown state: nothing that it says from now on can be trusted.
        current = null
        if (trapping.size >= MAX_TRAPPING) trapping.clear()
        trapping.add(policy)
        throw new Error(TRAPPED)
      }
    },
  }
}

const TRAPPED = 'Cedar cannot evaluate the policy: split its conditions into several shorter statements'

/** A trap of WebAssembly, or an overflow of the stack inside of it. An error that Cedar reports is neither. */
const isTrap = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'RuntimeError' || error.name === 'RangeError')

/** Numbers the instances: two evaluators on one module must not share a name. */
let instances = 0

/** The name under which Cedar has parsed a policy. The least recently used name is taken for a new policy. */
function parsedSets(cedar: CedarModule): (policy: string) => string {
  const prefix = `countersign-${instances++}`
  const ids = new Map<string, string>()
  const free = Array.from({ length: MAX_PARSED_SETS }, (_, at) => `${prefix}-${at}`)
  return (policy) => {
    const known = ids.get(policy)
    if (known !== undefined) {
      ids.delete(policy)
      ids.set(policy, known)
      return known
    }
    const [oldest] = ids
    if (free.length === 0 && oldest !== undefined) {
      ids.delete(oldest[0])
      free.push(oldest[1])
    }
    const id = free.pop() as string
    try {
      const answer = cedar.preparsePolicySet(id, { staticPolicies: policy })
      if (answer.type === 'failure') throw new Error(answer.errors.map((error) => error.message).join('; '))
    } catch (error) {
      // Nothing refers to the name, so the next policy can have it.
      free.push(id)
      throw error
    }
    ids.set(policy, id)
    return id
  }
}
