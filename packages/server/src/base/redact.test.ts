import { expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { createLog } from './log.js'
import { redact, redactText } from './redact.js'

const KEY = `csk_${'Ab3_-xYz'.repeat(4)}`
const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1c2VyIn0.c2lnbmF0dXJlLXZhbHVl'

/** Each hides the word `needle` in its own way; it must be gone whatever it is wrapped in. */
const SECRETS: readonly [string, unknown][] = [
  ['a key', `csk_needle${'A'.repeat(26)}`],
  ['a bearer header', 'Bearer needle-needle'],
  ['a JWT', 'eyJneedle.eyJneedle.needle'],
  ['a URL', 'postgres://countersign:needle@127.0.0.1:5432/x'],
  ['a URL with a user only', 'https://needle@example.test/path'],
  ['a link with a token', 'https://example.test/reset?token=needle&x=1'],
  ['an assignment', 'login failed, password=needle for a@example.test'],
  ['JSON in text', '{"password":"needle"}'],
  ['a sign-in in running text', 'the browser sent countersign_refresh=needle and __Host-countersign_access=needle'],
  ['short names in text', 'db_pwd=needle, smtp pass: needle, {"auth":"needle"}'],
  ['short names', { pwd: 'needle', dbPass: 'needle', basic_auth: ['needle'], countersign_refresh: 'needle' }],
  ['a cookie line', 'cookie: a=needle; b=needle'],
  ['a provider key', 'sk-needle-needle-needle'],
  ['a private key', '-----BEGIN RSA PRIVATE KEY-----\nneedle\n-----END RSA PRIVATE KEY-----'],
  ['by name', { password: 'needle' }],
  ['by name in another spelling', { 'X-Api-Key': 'needle', newPassword: 'needle', REFRESH_TOKEN: 'needle' }],
  ['a number by name', { password: 'needle'.length, secret: ['needle'] }],
  ['an object by name', { credentials: { user: 'needle' } }],
  ['a principal', { principal: { role: 'needle' } }],
  ['an error', new Error('connect failed: postgres://u:needle@h/db')],
  ['an error with a cause', new Error('outer', { cause: new Error('Bearer needle-needle') })],
  [
    'fields of an error',
    Object.assign(new Error('failed'), { parameters: ['needle'], query: 'needle', detail: 'needle' }),
  ],
  ['headers', new Headers({ authorization: 'Bearer needle-needle', cookie: 'needle' })],
  ['a Map', new Map([['token', 'needle']])],
  ['a Set', new Set(['Bearer needle-needle'])],
  ['bytes', Buffer.from('needle')],
  ['a URL object', new URL('https://u:needle@example.test')],
  ['a field name', { [`csk_needle${'A'.repeat(26)}`]: 1 }],
]

const WRAPPINGS: readonly [string, (value: unknown) => unknown][] = [
  ['at the top', (value) => value],
  ['at depth 3', (value) => ({ a: { b: { c: value } } })],
  ['at depth 20', (value) => Array.from({ length: 20 }).reduce((inner: unknown) => ({ inner }), value)],
  ['at depth 100', (value) => Array.from({ length: 100 }).reduce((inner: unknown) => [inner], value)],
  ['in an array', (value) => [[1, value], [value]]],
]

function lineOf(field: unknown): string {
  const lines: string[] = []
  createLog({ level: 'info', write: (line) => lines.push(line) }).info({ field }, 'a line')
  return lines.join('')
}

proves(
  'auth.logs.redacted',
  'every kind of secret is redacted at the top, at depth 3, 20 and 100, and in arrays',
  () => {
    for (const [what, secret] of SECRETS) {
      for (const [where, wrap] of WRAPPINGS) {
        const line = lineOf(wrap(secret))
        expect([what, where, line.includes('needle')]).toEqual([what, where, false])
        expect(JSON.parse(line)).toMatchObject({ level: 'info', msg: 'a line' })
      }
    }
    expect(lineOf('needle')).toContain('needle')
  },
)

test.each(SECRETS.filter(([, secret]) => typeof secret === 'string'))(
  '%s in a message is redacted',
  (_what, secret) => {
    const lines: string[] = []
    const log = createLog({ level: 'info', write: (line) => lines.push(line) })
    log.with({ url: secret }).error({ error: new Error(String(secret)) }, `it said ${secret} at the end`)
    expect(lines.join('')).not.toContain('needle')
  },
)

test('an object nested 5,000 deep, a cycle and a throwing getter do not stop the log', () => {
  let deep: unknown = KEY
  for (let i = 0; i < 5_000; i++) deep = i % 2 ? [deep] : { deep }
  const cycle: Record<string, unknown> = { name: 'cycle' }
  cycle.self = cycle
  const throwing = Object.defineProperty({}, 'x', {
    enumerable: true,
    get: () => {
      throw new Error('no')
    },
  })
  const lines: string[] = []
  createLog({ level: 'info', write: (line) => lines.push(line) }).info(
    { deep, cycle, throwing, big: 10n ** 30n },
    'odd',
  )
  expect(lines[0]).not.toContain(KEY)
  expect(JSON.parse(lines[0]!)).toMatchObject({
    cycle: { name: 'cycle', self: '[seen above]' },
    throwing: { x: '[unreadable]' },
  })
})

test('a very wide object is cut, not walked for ever', () => {
  let read = 0
  const item = Object.defineProperty({}, 'index', { enumerable: true, get: () => read++ })
  redact({ wide: new Array(200_000).fill(null).map(() => Object.create(null, Object.getOwnPropertyDescriptors(item))) })
  expect(read).toBeGreaterThan(0)
  expect(read).toBeLessThan(20_000)
})

test('what is no secret stays readable', () => {
  const plain = {
    input_tokens: 12,
    status: 200,
    route: 'propose',
    error_code: 'RATE_LIMITED',
    url: 'https://example.test/a?b=c',
  }
  expect(redact(plain)).toEqual(plain)
  expect(redactText('a basic case of tokens: none')).toContain('basic case')
})

test('__proto__ as a field is copied as a field', () => {
  const copy = redact(JSON.parse('{"__proto__":{"polluted":true}}')) as object
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
  expect(Object.keys(copy)).toEqual(['__proto__'])
})

test.each([
  ['a'.repeat(100_000)],
  ['://'.repeat(30_000)],
  ['token='.repeat(20_000)],
  ['eyJ'.repeat(30_000)],
  [`Bearer ${' '.repeat(90_000)}`],
  ['-----BEGIN '.repeat(10_000)],
])('long text is redacted in linear time', (text) => {
  const started = process.cpuUsage()
  redactText(text)
  expect(process.cpuUsage(started).user / 1_000).toBeLessThan(2_000)
})

test('the whole of a JWT and of a key goes, also in the middle of a word-like text', () => {
  expect(redactText(`x=${JWT}; y=${KEY}.`)).not.toMatch(/eyJ|csk_A|c2lnbmF0/)
})
