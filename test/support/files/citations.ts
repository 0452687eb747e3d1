import { readFileSync } from 'node:fs'
import { REQUIREMENTS } from '../../requirements.js'
import { sourceText, stringLiterals } from './source-text.js'
import { root, trackedFiles } from './tracked-files.js'

/** By test file, the requirement ids that it cites. */
export function readCitations(): Map<string, ReadonlySet<string>> {
  const known = new Set<string>(REQUIREMENTS.map(({ id }) => id))
  const testFiles = trackedFiles().filter((file) => /\.test\.tsx?$/.test(file))
  return new Map(testFiles.map((file) => [file, citedIds(readFileSync(`${root}${file}`, 'utf8'), known)]))
}

/**
 * The requirement ids that a test file cites. `proves('id', …)` and `proves(['id', …], …)` are read where they stand.
 * Where a call cites by a variable, as in a loop over rows, every string of the file that is a known id counts.
 */
export function citedIds(source: string, known: ReadonlySet<string>): Set<string> {
  const text = sourceText(source)
  const cited = new Set<string>()
  for (const call of text.bare.matchAll(/(?<!function\s+)\bproves(?!With\b)\w*\s*\(\s*/g)) {
    const from = call.index + call[0].length
    const to = from + (firstArgument.exec(text.bare.slice(from))?.[0].length ?? 0)
    const literals = stringLiterals(text, from, to)
    const byName = to > from ? literals : stringLiterals(text).filter(({ value }) => known.has(value))
    for (const { value } of byName) cited.add(value)
  }
  return cited
}

/** A string, or an array of nothing but strings, with the insides of the strings blanked out. */
const firstArgument = /^(?:(['"]) *\1|\[(?:\s*(['"]) *\2\s*,?)*\s*\])/
