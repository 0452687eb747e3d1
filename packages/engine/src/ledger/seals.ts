import type { LedgerKey, Seal } from '@countersign/protocol'
import { sealDigest, sealProblem } from './signatures.js'

/**
 * What is wrong with seals that stand one behind another, or null: each is genuine and names the one before it. The first
 * may have any number, since old ones are removed.
 */
export function sealsProblem(seals: readonly Seal[], keys: readonly LedgerKey[]): string | null {
  let before: Seal | undefined
  for (const seal of seals) {
    const problem = sealProblem(seal, keys)
    if (problem !== null) return `seal ${seal.number} is not genuine: ${problem}`
    if (before !== undefined && seal.number !== before.number + 1)
      return `seal ${seal.number} follows seal ${before.number}: those between are missing`
    if (before !== undefined && seal.prev_digest !== sealDigest(before))
      return `seal ${seal.number} does not name seal ${before.number}`
    before = seal
  }
  return null
}

/** How the seals that a service has now contradict one that was kept elsewhere, or null. */
export function sealContradiction(kept: Seal, found: readonly Seal[]): string | null {
  const newest = found.at(-1)?.number ?? 0
  if (newest < kept.number)
    return `seal ${kept.number} was kept, but the newest here is ${newest}: the past was set back`
  const same = found.find(({ number }) => number === kept.number)
  if (same === undefined || sealDigest(same) === sealDigest(kept)) return null
  return `seal ${kept.number} is another one than was kept: the past was set back, or written anew`
}
