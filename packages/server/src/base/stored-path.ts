import { compilePath, locationPath, type Plan } from '@countersign/engine'

type Contract = Plan['contracts'] extends ReadonlyMap<string, infer Item> ? Item : never

/**
 * Where a rule failed, with only the names that its contract knows. Other names are keys that the model wrote, such as
 * an address in a map by addresses: they are arguments like any value, and `[*]` stands for them.
 */
export function storedPath(path: string, contract: Contract | undefined): string {
  const compiled = compilePath(path)
  // Longer than any path of a contract: the model's names made it so.
  if (!compiled.ok) return locationPath(['tool_calls'])
  const { steps } = compiled.path
  // A path that can find several values is the contract's own.
  if (steps === null || steps.length <= STEPS_TO_ARGUMENTS) return path
  const known = wordsOf(contract)
  const stored = steps.map((step, at) => {
    const isKnown = typeof step === 'number' || at < STEPS_TO_ARGUMENTS || known.has(step)
    return isKnown ? locationPath([step]).slice(1) : '[*]'
  })
  return `$${stored.join('')}`
}

/** `tool_calls`, an index and `arguments`. */
const STEPS_TO_ARGUMENTS = 3
const NONE: ReadonlySet<string> = new Set()
const names = new WeakMap<Contract, ReadonlySet<string>>()

/** Every word of a contract, whatever it stands for there. */
export function wordsOf(contract: Contract | undefined): ReadonlySet<string> {
  if (contract === undefined) return NONE
  const known = names.get(contract)
  if (known !== undefined) return known
  const found = new Set(JSON.stringify(contract.definition).match(/[\p{L}\p{N}_-]+/gu))
  names.set(contract, found)
  return found
}
