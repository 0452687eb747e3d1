import { expect, test } from 'vitest'
import { compilePlan } from '../compile/compile-plan.js'
import { parseResultText } from '../flows/result-text.js'
import { parseYaml } from './parse-yaml.js'

const DEEP: Readonly<Record<string, string>> = {
  'brackets that nobody closes': '['.repeat(60_000),
  'brackets after a key': `{"tool":${'['.repeat(60_000)}`,
  'closed brackets': `${'['.repeat(60_000)}${']'.repeat(60_000)}`,
  braces: '{a: '.repeat(40_000),
  'lists in lists': '- '.repeat(60_000),
  'keys of keys': `- ${'? '.repeat(700)}`,
  'maps in maps': 'a: '.repeat(40_000),
  'lines that step to the right': Array.from({ length: 500 }, (_, at) => `${' '.repeat(at)}a:`).join('\n'),
}

test.each(Object.entries(DEEP))('%s are recognised as too deep before anything recurses', (_, text) => {
  expect(parseYaml(text, {})).toBeNull()
  const compiled = compilePlan({ contracts: [{ file: 'deep.yaml', text }] })
  expect(compiled).toMatchObject({ ok: false, errors: [{ message: 'the file is nested too deeply' }] })
  expect(() => parseResultText(text)).not.toThrow()
})

test('as deep as JSON may be is read', () => {
  const text = `${'['.repeat(60)}${']'.repeat(60)}`
  expect(parseYaml(text, {})?.toJS()).toEqual(JSON.parse(text))
})

test('a long line with a fault in every word is refused without showing it for each of them', () => {
  const started = process.cpuUsage()
  const compiled = compilePlan({ contracts: [{ file: 'faults.yaml', text: '- !!a &b '.repeat(20_000) }] })
  expect(compiled).toMatchObject({ ok: false, errors: [{ line: 1 }] })
  // It was twenty-six seconds.
  expect(process.cpuUsage(started).user / 1_000).toBeLessThan(12_000)
})

test('no stack is made for each of the faults that a text may hold, and other errors have theirs', () => {
  const document = parseYaml(`[${']'.repeat(1_000)}`, { logLevel: 'silent' })
  expect(document?.errors.length).toBeGreaterThan(900)
  expect(document?.errors.filter(({ stack }) => stack?.includes('\n    at '))).toEqual([])
  expect(new Error('another').stack).toContain('\n    at ')
})

test('a second document is refused in a contract and ignored in a result', () => {
  const text = 'tool: a\n---\ntool: b\n'
  expect(compilePlan({ contracts: [{ file: 'two.yaml', text }] })).toMatchObject({
    ok: false,
    errors: [{ line: 2, message: 'the file holds more than one document' }],
  })
  expect(parseResultText(text)).toEqual({ tool: 'a' })
})
