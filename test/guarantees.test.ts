import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { REQUIREMENTS } from './requirements.js'
import { root } from './support/files/tracked-files.js'

const ids = new Set<string>(REQUIREMENTS.map(({ id }) => id))
const CITED = /\[([a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+)\](?!\()/g

/** The rows of the table under a heading, as cells. */
function rowsUnder(page: string, heading: string): string[][] {
  const section = page.split(/^## /m).find((part) => part.startsWith(heading)) ?? ''
  const lines = section.split('\n').filter((line) => line.startsWith('| ') || line.startsWith('|-'))
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

const page = readFileSync(`${root}docs/guarantees.md`, 'utf8')
const rows = rowsUnder(page, 'What is proven, and against whom')

test('every promise of what is proven names a requirement that a test proves', () => {
  expect(rows.length).toBeGreaterThan(5)
  for (const [against, holds = ''] of rows) {
    const cited = [...holds.matchAll(CITED)].map(([, id]) => id ?? '')
    expect([against, holds === '' || cited.length > 0]).toEqual([against, true])
    expect(cited.filter((id) => !ids.has(id))).toEqual([])
  }
})

/** Sections of promises; the others say what is assumed, trusted or not promised. */
const PROMISING = ['Who is stopped', 'On the server', 'In the client SDK', 'Through the gateway', 'What is stored']

/** The sentences of a section: of its lists and paragraphs, and the last cell of each row of its tables. */
function sentencesUnder(text: string, heading: string): string[] {
  const section = text.split(/^## /m).find((part) => part.startsWith(heading)) ?? ''
  const rows = rowsUnder(text, heading).map((cells) => cells.at(-1) ?? '')
  const lines = section.split('\n').slice(1)
  const prose = lines.filter((line) => !line.startsWith('|') && line.trim() !== '')
  return [...rows, ...prose.flatMap(sentencesOf)]
}

/** Full stops inside brackets and code do not end a sentence; a heading in bold is none. */
const sentencesOf = (line: string): string[] =>
  line
    .replace(/^- /, '')
    .replace(/^\*\*[^*]*\.\*\* /, '')
    .split(/(?<=\.)\s+(?=[A-Z`*])/)

test.each(PROMISING)('every sentence of "%s" names a requirement that a test proves', (heading) => {
  const sentences = sentencesUnder(page, heading)
  expect(sentences.length).toBeGreaterThan(2)
  for (const sentence of sentences) {
    const cited = [...sentence.matchAll(CITED)].map(([, id]) => id ?? '')
    expect([sentence, cited.length > 0]).toEqual([sentence, true])
    expect(cited.filter((id) => !ids.has(id))).toEqual([])
  }
})

test('a sentence without a requirement would be found', () => {
  const text = '## Kept\n\n- **Bold.** One is proven [a.b]. Two is not.\n\n| who | what |\n|---|---|\n| x | y |\n'
  expect(sentencesUnder(text, 'Kept')).toEqual(['y', 'One is proven [a.b].', 'Two is not.'])
})

test('a promise without a requirement would be found', () => {
  const [row] = rowsUnder('## Proven\n| a | b |\n|---|---|\n| x | y |\n', 'Proven')
  expect(row).toEqual(['x', 'y'])
  expect([...'y [no.such-row] [link](there)'.matchAll(CITED)].map(([, id]) => id)).toEqual(['no.such-row'])
})
