import type { Strength } from './rule-strength.js'

/** One difference in words. `allows`: what was blocked may be allowed. `blocks`: the reverse. `changes`: it depends. */
export interface PlanChange {
  readonly tool: string | null
  readonly effect: 'allows' | 'blocks' | 'changes'
  readonly text: string
}

/** Makes a change of one contract, or of the session. */
export type Say = (effect: PlanChange['effect'], text: string) => PlanChange

/** What a rule in place of another does to the calls it judges. */
export const EFFECT_OF: Readonly<Record<Exclude<Strength, 'same'>, PlanChange['effect']>> = {
  narrower: 'blocks',
  wider: 'allows',
  different: 'changes',
}

/** Items of two lists under a key that says which of them are about the same thing. */
export function pairs<T>(
  was: readonly T[],
  is: readonly T[],
  keyOf: (item: T) => string,
): { readonly before: readonly T[]; readonly after: readonly T[] }[] {
  const found = new Map<string, { before: T[]; after: T[] }>()
  const under = (item: T) => {
    const key = keyOf(item)
    const pair = found.get(key) ?? { before: [], after: [] }
    found.set(key, pair)
    return pair
  }
  for (const item of is) under(item).after.push(item)
  for (const item of was) under(item).before.push(item)
  return [...found.values()]
}

/** The names that only one of two lists has. */
export function namesApart<Name extends string>(
  was: readonly Name[],
  is: readonly Name[],
): { readonly added: Name[]; readonly gone: Name[] } {
  const [had, has] = [new Set(was), new Set(is)]
  return { added: is.filter((name) => !had.has(name)), gone: was.filter((name) => !has.has(name)) }
}
