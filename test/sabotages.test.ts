import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { REQUIREMENTS } from './requirements.js'
import { SABOTAGES, type Sabotage } from './sabotage/sabotages.js'
import { readCitations } from './support/files/citations.js'
import { root } from './support/files/tracked-files.js'

const known = new Set<string>(REQUIREMENTS.map(({ id }) => id))
const cited = new Set([...readCitations().values()].flatMap((ids) => [...ids]))

/** What keeps a sabotage from being what it says. */
function problemsOf({ breaks, file, from, to }: Sabotage, read: (file: string) => string | null): string[] {
  const places = read(file)?.split(from).length ?? 0
  return [
    ...(known.has(breaks) ? [] : [`${breaks} is no requirement`]),
    ...(cited.has(breaks) ? [] : [`${breaks} is cited by no test`]),
    ...(from === to ? [`${breaks}: nothing is changed`] : []),
    ...(places === 2 ? [] : [`${breaks}: ${JSON.stringify(from)} stands ${places - 1} times in ${file}`]),
  ]
}

const readSource = (file: string): string | null =>
  existsSync(`${root}${file}`) ? readFileSync(`${root}${file}`, 'utf8') : null

describe('the table of sabotages', () => {
  test('breaks requirements in one place each', () => {
    expect(SABOTAGES.flatMap((row) => problemsOf(row, readSource))).toEqual([])
  })

  test('is large, spread over the sections of the requirements, and says nothing twice', () => {
    expect(SABOTAGES.length).toBeGreaterThanOrEqual(60)
    const broken = SABOTAGES.map(({ breaks }) => REQUIREMENTS.find(({ id }) => id === breaks)?.section)
    expect(new Set(broken).size).toBeGreaterThanOrEqual(12)
    expect(new Set(SABOTAGES.map(({ file, from }) => `${file} ${from}`)).size).toBe(SABOTAGES.length)
  })
})

describe('the check of the table', () => {
  const row: Sabotage = { breaks: 'label.never-removed', file: 'a.ts', from: 'a < b', to: 'a <= b' }
  test.each<[string, Sabotage, string]>([
    ['a place that is gone', row, 'a > b'],
    ['a place that stands twice', row, 'a < b || a < b'],
    ['no change', { ...row, to: 'a < b' }, 'a < b'],
    ['an unknown requirement', { ...row, breaks: 'label.eternal' as never }, 'a < b'],
  ])('finds %s', (_, sabotage, source) => {
    expect(problemsOf(sabotage, () => source)).not.toEqual([])
  })

  test('finds a file that is gone, and nothing where all is well', () => {
    expect(problemsOf(row, () => null)).not.toEqual([])
    expect(problemsOf(row, () => 'if (a < b) return')).toEqual([])
  })
})
