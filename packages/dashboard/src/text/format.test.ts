import { expect, test } from 'vitest'
import {
  afterName,
  ago,
  axisTime,
  count,
  countOrMore,
  dataSize,
  duration,
  fullTime,
  money,
  percent,
  plural,
  timeAfter,
  zoneName,
} from './format.js'

test('data is written in the largest unit that fits, and what is left is never rounded up', () => {
  expect([0, 499_999_999, 500_000_000, 49_990_000_000, 2_000_000_000_000].map(dataSize)).toEqual([
    '0 MB',
    '499.9 MB',
    '500 MB',
    '49.9 GB',
    '2 TB',
  ])
})

test('shares are never rounded to all or nothing', () => {
  expect([0, 0.0004, 0.5, 0.125, 0.99999, 1].map(percent)).toEqual(['0%', '< 0.1%', '50%', '12.5%', '> 99.9%', '100%'])
})

test('numbers, money and times read well', () => {
  expect([count(1_234), count(1_234_567), plural(1, 'call'), plural(2, 'call')]).toEqual([
    '1,234',
    '1.2M',
    '1 call',
    '2 calls',
  ])
  expect([countOrMore(9_999), countOrMore(10_000, true)]).toEqual(['9,999', '10,000+'])
  expect([0, 0.0412, 0.00001234, 3.456].map(money)).toEqual(['0', '0.0412', '0.0000123', '3.46'])
  const now = Date.parse('2026-03-04T12:00:00Z')
  const before = (seconds: number) => ago(new Date(now - seconds * 1_000).toISOString(), now)
  expect([3, 42, 200, 7_300, 2 * 86_400].map(before)).toEqual([
    'just now',
    '42 s ago',
    '3 min ago',
    '2 h ago',
    '2 days ago',
  ])
  expect(duration('2026-01-01T00:00:00.000Z', '2026-01-01T00:00:01.500Z')).toBe('1.5 s')
})

test('a full time names its zone; in a list of times the date appears where it changes', () => {
  const noon = '2026-03-04T12:00:00Z'
  expect(fullTime(noon)).toMatch(/^4 Mar 2026, \d{2}:00:00 \S+$/)
  expect(fullTime(noon).endsWith(zoneName(new Date(noon)))).toBe(true)
  expect(timeAfter(noon, undefined)).toMatch(/^4 Mar 2026, \d{2}:00:00$/)
  expect(timeAfter(noon, '2026-03-04T11:59:00Z')).toMatch(/^\d{2}:00:00$/)
  expect(timeAfter(noon, '2026-03-02T12:00:00Z')).toMatch(/^4 Mar 2026, /)
})

test('a tool shown next to a message is not named twice', () => {
  expect(afterName('pay', 'pay has a contract now')).toBe('has a contract now')
  expect(afterName('pay', 'pay: amounts above 5 are blocked')).toBe('amounts above 5 are blocked')
  expect(afterName('pay', 'payments stop')).toBe('payments stop')
  expect(afterName(null, 'the session has limits now')).toBe('the session has limits now')
})

test('an axis over days shows dates, within a day times, and at midnight the date', () => {
  const at = (day: number, hour: number) => new Date(2026, 2, day, hour)
  const days = 86_400
  expect([1, 2, 3].map((day) => axisTime(at(day, 0), 30 * days))).toEqual(['1 Mar', '2 Mar', '3 Mar'])
  expect([axisTime(at(4, 0), 7 * days), axisTime(at(4, 0), days), axisTime(at(4, 6), days)]).toEqual([
    '4 Mar',
    '4 Mar',
    '06:00',
  ])
  expect(axisTime(at(4, 0), 3_600)).toBe('00:00')
})
