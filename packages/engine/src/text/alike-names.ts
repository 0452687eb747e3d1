import { plainText } from './cut-text.js'
import { foldedName } from './folded-text.js'

/** No two such names are alike unless they are equal: printed ASCII without capitals and blanks. */
export function isPlainName(name: string): boolean {
  for (let at = 0; at < name.length; at++) {
    const code = name.charCodeAt(at)
    if (code <= SPACE || code > LAST_PRINTED || (code >= CAPITAL_A && code <= CAPITAL_Z)) return false
  }
  return true
}

/**
 * Tells the names that are none of these, and that a reader who passes over case or invisible characters takes for one of
 * them: `Tool_Input`.
 */
export function disguisesOf(known: readonly string[]): (name: string) => boolean {
  const exact = new Set(known)
  const folded = new Set<string | null>(known.map(foldedName))
  return (name) => !isPlainName(name) && !exact.has(name) && folded.has(foldedName(name))
}

/** Why names of one object may be the same to a reader. */
export function alikeProblem(names: readonly string[]): string | null {
  const known = new Map<string, string>()
  for (let at = 0; at < names.length; at++) {
    const name = names[at] as string
    const folded = foldedName(name)
    if (folded === null) return `the name ${shownName(name)} has too many combining marks in a row`
    const other = known.get(folded)
    if (other !== undefined)
      return `the names ${shownName(other)} and ${shownName(name)} differ only in case, Unicode form or invisible characters, so a tool may treat them as one: remove one, or give such data as a list`
    known.set(folded, name)
  }
  return null
}

const shownName = (name: string): string => plainText(JSON.stringify(name), SHOWN_NAME_LENGTH)

const SHOWN_NAME_LENGTH = 64

const [SPACE, LAST_PRINTED] = [0x20, 0x7e]
const [CAPITAL_A, CAPITAL_Z] = [0x41, 0x5a]
