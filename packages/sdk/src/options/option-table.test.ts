import { describe, expect, test } from 'vitest'
import { readEnvironment } from './environment.js'
import { readObserveOptions } from './observe-settings.js'
import { OPTIONS, type OptionRow } from './option-table.js'
import { readReplayOptions } from './replay-settings.js'

const rows = Object.entries(OPTIONS).flatMap(([face, options]) =>
  Object.entries<OptionRow>(options).map(([name, row]) => [`${face}.${name}`, row] as const),
)

test.each(rows)('%s: its default is a value it takes, and its text is a sentence', (_name, row) => {
  if (row.default !== undefined) expect(row.kind.problem(row.default)).toBeNull()
  expect(row.default === undefined || row.defaultsTo === undefined).toBe(true)
  expect(row.doc).toMatch(/^[A-Z].*\.$/)
})

/** Looked into when it is used, or taken as it is. */
const UNCHECKED = new Set(['replay.contracts', 'workflow.definition'])

const wrong = Symbol('wrong')

test.each(rows.filter(([name]) => !UNCHECKED.has(name)))('%s: a value of another type is named', (_name, row) => {
  expect(row.kind.problem(wrong)).toMatch(/^must /)
})

const NO_ENVIRONMENT = readEnvironment({})

describe('a URL in the environment that cannot be used', () => {
  const environment = readEnvironment({ COUNTERSIGN_API_URL: 'localhost:4319' })

  test('is refused by replay under the name of the variable', () => {
    expect(() => readReplayOptions({}, environment)).toThrow(/^COUNTERSIGN_API_URL must be an http or https URL/)
    expect(readReplayOptions({ runtimeUrl: 'http://a' }, environment).runtimeUrl).toBe('http://a')
  })

  test('is reported by observe with the name of the variable', () => {
    const details: unknown[] = []
    const { endpoint } = readObserveOptions({ diagnostics: (event) => details.push(event) }, environment)
    expect(endpoint).toBeNull()
    expect(details).toMatchObject([{ option: 'endpoint', detail: expect.stringContaining('from COUNTERSIGN_API_URL') }])
  })
})

test('a key and an address are not repeated in a message', () => {
  const secret = 'secret-'.repeat(200)
  for (const options of [{ apiKey: secret }, { runtimeUrl: secret }, { principal: secret.repeat(10) }]) {
    expect(() => readReplayOptions(options, NO_ENVIRONMENT)).toThrow(/^option \w+ must (?!.*secret)/)
  }
})

test('null counts as not given where a value often comes from elsewhere', () => {
  const options = { apiKey: null, runtimeUrl: null, environment: null, labels: null, principal: null }
  const settings = Reflect.apply(readReplayOptions, undefined, [options, NO_ENVIRONMENT])
  expect(settings).toMatchObject({ apiKey: null, labels: [], environment: 'production' })
})
