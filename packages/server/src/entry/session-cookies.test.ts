import fc from 'fast-check'
import { expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { cookieName, readCookie } from './session-cookies.js'

/** What is meant, in the time that it takes. */
function readBySplitting(header: string, wanted: string): string | undefined {
  let found: string | undefined
  for (const part of header.split(';')) {
    const [name, value] = part.trim().split('=', 2)
    if (name === wanted && value !== undefined && value.length <= 4_096) found = value
  }
  return found
}

const piece = fc.constantFrom(
  'a',
  'ab',
  'b',
  '=',
  ';',
  '; ',
  ' ',
  '\t',
  '\u00a0',
  'a=',
  ';a=',
  '__Host-a',
  'x'.repeat(4_095),
)

test('a cookie is found as if the header were split at every semicolon', () => {
  const headers = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''))
  fc.assert(
    fc.property(headers, fc.constantFrom('a', 'ab', '__Host-a'), (header, wanted) => {
      expect(readCookie(header, wanted)).toBe(readBySplitting(header, wanted))
    }),
    { numRuns: 5_000 },
  )
})

test('the last cookie of a name counts, with at most 4,096 characters', () => {
  expect(readCookie(null, 'a')).toBeUndefined()
  expect(readCookie('a=1; b=2; a=3 ', 'a')).toBe('3')
  expect(readCookie('xa=1; a b=2; a =3', 'a')).toBeUndefined()
  const long = 'x'.repeat(4_096)
  expect(readCookie(`a=1; a=${long}`, 'a')).toBe(long)
  expect(readCookie(`a=1; a=${long}x`, 'a')).toBe('1')
})

/** The time that reading a header takes on average, in milliseconds of the processor, at best of some rounds. */
function costMs(header: string, wanted: string): number {
  const rounds = Array.from({ length: 10 }, () => {
    const { user, system } = process.cpuUsage()
    for (let time = 0; time < 100; time++) readCookie(header, wanted)
    const since = process.cpuUsage()
    return (since.user - user + since.system - system) / 100_000
  })
  return Math.min(...rounds)
}

proves('limit.fair.cookies', () => {
  const wanted = cookieName('access', true)
  const full = (part: string) => part.repeat(16_000 / part.length)
  const headers = [
    ';',
    '; ',
    '=',
    '_',
    wanted,
    `${wanted}=`,
    `${wanted} `,
    `;${wanted}`,
    `; ${wanted}=${'x'.repeat(4_097)}`,
  ]
  for (const part of headers) expect(costMs(full(part), wanted), part.slice(0, 40)).toBeLessThan(1)
  expect(costMs(`${' '.repeat(8_000)}${full(`${wanted}=`).slice(0, 8_000)}`, wanted)).toBeLessThan(1)
})
