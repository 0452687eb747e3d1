import type { CardEdit, JsonObject, JsonValue, QuestionCard } from '@countersign/protocol'
import { equalValues } from '../json/equal-values.js'
import { compilePath, type PathStep } from '../json/json-path.js'

/** Why a call is not the one of the card with its values changed as the card allows; null where it is. */
export function editProblem(card: Pick<QuestionCard, 'arguments' | 'edit'>, edited: JsonObject): string | null {
  let restored = edited
  for (const edit of card.edit) {
    const compiled = compilePath(edit.path)
    const path = compiled.ok ? compiled.path : null
    const asked = path?.first(card.arguments)
    const now = path?.first(edited)
    if (asked === undefined || now === undefined || equalValues(asked, now)) continue
    const problem = outside(edit, asked, now)
    if (problem !== null) return `${edit.path} ${problem}`
    restored = withValue(restored, path?.steps ?? [], asked) as JsonObject
  }
  if (equalValues(edited, card.arguments)) return 'nothing is changed'
  if (equalValues(restored, card.arguments)) return null
  const paths = card.edit.map(({ path }) => path)
  return paths.length === 0 ? 'no argument may be changed' : `only ${paths.join(', ')} may be changed`
}

function outside({ to, values = [] }: CardEdit, asked: JsonValue, now: JsonValue): string | null {
  switch (to) {
    case 'lower':
      if (typeof asked !== 'number' || typeof now !== 'number') return 'must be a number, before and after'
      return now < asked ? null : `may only be lower than ${asked}`
    case 'fewer':
      if (!Array.isArray(asked) || !Array.isArray(now)) return 'must be a list, before and after'
      // An empty list often means all.
      if (now.length === 0) return 'must keep at least one of its elements'
      return isPartOf(now, asked) ? null : 'may only lose elements'
    case 'one_of':
      return values.some((value) => equalValues(value, now))
        ? null
        : 'must be one of the values that the contract lists'
  }
}

/** The same elements in the same order, some left out. */
function isPartOf(part: readonly JsonValue[], whole: readonly JsonValue[]): boolean {
  let at = 0
  for (const value of whole) {
    if (at < part.length && equalValues(value, part[at] as JsonValue)) at++
  }
  return at === part.length
}

/** A copy with another value at a place that it has. */
function withValue(root: JsonValue, [step, ...rest]: readonly PathStep[], value: JsonValue): JsonValue {
  if (step === undefined) return value
  if (Array.isArray(root)) {
    const at = typeof step === 'number' && step < 0 ? root.length + step : step
    return root.map((one, index) => (index === at ? withValue(one, rest, value) : one))
  }
  const entries = Object.entries(root as JsonObject)
  return Object.fromEntries(entries.map(([key, one]) => [key, key === step ? withValue(one, rest, value) : one]))
}
