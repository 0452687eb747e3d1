import { describe, expect, test, vi } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { compilePlan } from '../compile/compile-plan.js'
import { prepareHours } from './hours.js'

const BERLIN = 'Europe/Berlin'
const OFFICE = { time_zone: BERLIN, allow: [{ days: 'mon-fri', from: '08:00', to: '18:00' }] }

function isOpen(hours: Parameters<typeof prepareHours>[0], at: string): boolean {
  const prepared = prepareHours(hours)
  if (!prepared.ok) throw new Error(prepared.problem)
  return prepared.hours.contains(Date.parse(at))
}

describe('hours', () => {
  proves(['contract.hours'], 'go by the clock of their time zone, summer and winter', () => {
    // 08:00 in Berlin is 07:00 in UTC in winter and 06:00 in summer.
    expect(isOpen(OFFICE, '2026-01-05T06:59:59.999Z')).toBe(false)
    expect(isOpen(OFFICE, '2026-01-05T07:00:00.000Z')).toBe(true)
    expect(isOpen(OFFICE, '2026-07-06T05:59:59.999Z')).toBe(false)
    expect(isOpen(OFFICE, '2026-07-06T06:00:00.000Z')).toBe(true)
    expect(isOpen(OFFICE, '2026-01-05T16:59:59.999Z')).toBe(true)
    expect(isOpen(OFFICE, '2026-01-05T17:00:00.000Z')).toBe(false)
    // Saturday in Berlin while it is Friday in UTC.
    expect(isOpen({ ...OFFICE, allow: [{ days: 'sat', from: '00:00', to: '01:00' }] }, '2026-01-09T23:30:00Z')).toBe(
      true,
    )
  })

  proves(
    ['limit.memory.bytes'],
    'keep one clock for each zone, however many contracts name it and however it is written',
    () => {
      const made = vi.spyOn(Intl, 'DateTimeFormat')
      const names = ['Asia/Kathmandu', 'asia/kathmandu', 'ASIA/Kathmandu']
      for (let at = 0; at < 300; at++) prepareHours({ ...OFFICE, time_zone: names[at % 3] as string })
      expect(made).toHaveBeenCalledTimes(1)
      made.mockRestore()
    },
  )

  test('the hour that a night skips is never there, and the one that it repeats is there twice', () => {
    const night = (from: string, to: string) => ({ time_zone: BERLIN, allow: [{ days: 'sun', from, to }] })
    // On 29 March 2026 the clock goes from 01:59 to 03:00, at 01:00 in UTC.
    expect(isOpen(night('02:00', '03:00'), '2026-03-29T00:59:59Z')).toBe(false)
    expect(isOpen(night('02:00', '03:00'), '2026-03-29T01:00:00Z')).toBe(false)
    expect(isOpen(night('03:00', '04:00'), '2026-03-29T01:00:00Z')).toBe(true)
    // On 25 October 2026 it is 02:30 at 00:30 and at 01:30 in UTC.
    expect(isOpen(night('02:00', '03:00'), '2026-10-25T00:30:00Z')).toBe(true)
    expect(isOpen(night('02:00', '03:00'), '2026-10-25T01:30:00Z')).toBe(true)
    expect(isOpen(night('02:00', '03:00'), '2026-10-25T02:00:00Z')).toBe(false)
  })

  test.each([
    ['mon-fri', 'fri', true],
    ['mon-fri', 'sat', false],
    ['fri-mon', 'sun', true],
    ['fri-mon', 'thu', false],
    ['wed', 'wed', true],
    ['mon,wed-thu', 'thu', true],
    ['mon,wed-thu', 'tue', false],
    ['mon-sun', 'tue', true],
  ])('%s has %s: %s', (days, day, expected) => {
    const at = `2026-11-${16 + ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'].indexOf(day)}T12:00:00Z`
    expect(isOpen({ time_zone: 'UTC', allow: [{ days, from: '00:00', to: '24:00' }] }, at)).toBe(expected)
  })

  test('a clock that jumps back is asked again', () => {
    const prepared = prepareHours({ time_zone: 'UTC', allow: [{ days: 'mon-sun', from: '08:00', to: '09:00' }] })
    const at = (time: string) => prepared.ok && prepared.hours.contains(Date.parse(`2026-01-05T${time}Z`))
    expect(['08:59:59', '09:00:00', '08:59:59', '07:59:59'].map(at)).toEqual([true, false, true, false])
  })
})

describe('hours that cannot be', () => {
  const errors = (hours: unknown) => {
    const result = compilePlan({ contracts: [{ file: 'pay.yaml', value: { tool: 'pay', hours } as never }] })
    return result.ok ? [] : result.errors.map(({ path, message, fix }) => `${path}: ${message} (${fix})`)
  }
  const span = { from: '08:00', to: '18:00' }

  test.each([
    [{ time_zone: 'Europe/Berlim', allow: [span] }, 'hours.time_zone: "Europe/Berlim" is not a time zone'],
    [{ time_zone: '+01:00', allow: [span] }, 'hours.time_zone: "+01:00" is not a time zone'],
    [
      { time_zone: 'UTC', allow: [{ from: '18:00', to: '08:00' }] },
      'ends at 08:00, before it begins (write two ranges',
    ],
    [{ time_zone: 'UTC', allow: [{ from: '08:00', to: '08:00' }] }, 'ends at 08:00, before it begins'],
    [{ time_zone: 'UTC', allow: [{ ...span, days: 'mo-fr' }] }, 'expected days such as mon-fri'],
    [{ time_zone: 'UTC', allow: [{ from: '8:00', to: '18:00' }] }, 'expected a time such as "08:00"'],
    [{ time_zone: 'UTC', allow: [{ from: '08:00', to: '24:01' }] }, 'expected a time such as "18:00"'],
    [{ time_zone: 'UTC', allow: [] }, 'hours.allow'],
    [{ allow: [span] }, 'hours.time_zone'],
  ])('%j', (hours, problem) => {
    expect(errors(hours)).toEqual([expect.stringContaining(problem)])
  })

  test('the same in session.yaml', () => {
    const session = { file: 'session.yaml', value: { hours: { time_zone: 'Mars/Base', allow: [span] } } as never }
    const result = compilePlan({ contracts: [{ file: 'pay.yaml', value: { tool: 'pay' } }], session })
    expect(!result.ok && result.errors.map(({ file, path }) => [file, path])).toEqual([
      ['session.yaml', 'hours.time_zone'],
    ])
  })
})
