import { type CedarModule, CedarParseError } from './cedar-module.js'
import { policyWeight } from './cedar-text.js'

/** A Cedar module that is replaced when it traps. */
export interface CedarInstance {
  /** Does something for a policy. If that traps in a new module too, the policy is not asked again. */
  use<Result>(policy: string, work: (use: Loaded) => Result): Result
  /** What the policies that it has parsed take, as counted. */
  keptBytes(): number
}

interface Loaded extends ParsedSets {
  readonly cedar: CedarModule
}

interface ParsedSets {
  /** The name under which Cedar has parsed a policy. */
  idOf(policy: string): string
  keptBytes(): number
}

/** What the parsed policies of one module may take. Its memory is outside of the heap, and is never given back. */
const KEPT_BYTES = 32 * 1024 * 1024
/** Each has up to 64 kB. */
const MAX_TRAPPING = 64

export function createCedarInstance(load: () => CedarModule): CedarInstance {
  let current: Loaded | null = null
  const trapping = new Set<string>()
  const loadNew = (): Loaded => {
    const cedar = load()
    return { cedar, ...parsedSets(cedar, KEPT_BYTES) }
  }
  return {
    keptBytes: () => current?.keptBytes() ?? 0,
    use(policy, work) {
      if (trapping.has(policy)) throw new Error(TRAPPED)
      // What others did to a module may be why it traps: only a new one tells.
      for (let isNew = current === null; ; isNew = true) {
        current ??= loadNew()
        try {
          return work(current)
        } catch (error) {
          if (!isTrap(error)) throw error
          // Its memory is in an unknown state: nothing that it says from now on can be trusted.
          current = null
          if (!isNew) continue
          if (trapping.size >= MAX_TRAPPING) trapping.clear()
          trapping.add(policy)
          throw new Error(TRAPPED)
        }
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

/** Parses each policy once and keeps so many bytes of them; those used longest ago are forgotten first. */
export function parsedSets(cedar: CedarModule, mostBytes: number): ParsedSets {
  const prefix = `countersign-${instances++}`
  const kept = new Map<string, { id: string; bytes: number }>()
  const free: string[] = []
  let total = 0
  let names = 0
  const forget = (policy: string, { id, bytes }: { id: string; bytes: number }) => {
    kept.delete(policy)
    total -= bytes
    // Cedar has no call for it: what it keeps under a name goes when something else is parsed under it.
    cedar.preparsePolicySet(id, NOTHING)
    free.push(id)
  }
  const idOf = (policy: string): string => {
    const known = kept.get(policy)
    if (known !== undefined) {
      kept.delete(policy)
      kept.set(policy, known)
      return known.id
    }
    const bytes = policyWeight(policy)
    for (const [oldest, set] of kept) {
      if (total + bytes <= mostBytes) break
      forget(oldest, set)
    }
    const id = free.pop() ?? `${prefix}-${names++}`
    const answer = cedar.preparsePolicySet(id, { staticPolicies: policy })
    if (answer.type === 'failure') {
      // Nothing refers to the name, so the next policy can have it.
      free.push(id)
      throw new CedarParseError(answer.errors)
    }
    kept.set(policy, { id, bytes })
    total += bytes
    return id
  }
  return { idOf, keptBytes: () => total }
}

const NOTHING = { staticPolicies: '' }
