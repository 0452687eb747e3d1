import type { Hours } from '@countersign/protocol'
import type { Conditional } from './when/condition.js'

/** When a tool may be called, ready to ask. */
export interface OpeningHours {
  contains(atMs: number): boolean
  /** For a sentence: `mon-fri 08:00-18:00 (Europe/Berlin)`. */
  readonly text: string
  /** What the clock shows in that zone: `sat 10:05`. */
  clock(atMs: number): string
}

/** Hours of a rule that may apply only sometimes. */
export interface PreparedHours extends OpeningHours, Conditional {}

/** Prepared hours, or what is wrong with them and where. */
export type HoursPreparation =
  | { readonly ok: true; readonly hours: OpeningHours }
  | { readonly ok: false; readonly path: (string | number)[]; readonly problem: string; readonly fix: string }

export const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

const EVERY_DAY = 'mon-sun'

/** Minutes of a day from `from` up to, but without, `to`. */
interface Span {
  readonly days: ReadonlySet<string>
  readonly from: number
  readonly to: number
}

/** The zone's own rules apply, summer time included: an hour that a day skips or repeats is allowed if it is listed. */
export function prepareHours({ time_zone: zone, allow }: Hours): HoursPreparation {
  const read = clockOf(zone)
  if (read === null) {
    const fix = 'use a name of the IANA time zone database, such as Europe/Berlin or UTC'
    return { ok: false, path: ['time_zone'], problem: `"${zone}" is not a time zone`, fix }
  }
  const spans: Span[] = []
  for (const [index, { days = EVERY_DAY, from, to }] of allow.entries()) {
    const span = { days: daysOf(days), from: minutesOf(from), to: minutesOf(to) }
    if (span.from >= span.to) {
      const fix = `write two ranges: from ${from} to 24:00, and from 00:00 to ${to} on the days after`
      return { ok: false, path: ['allow', index], problem: `the range ends at ${to}, before it begins`, fix }
    }
    spans.push(span)
  }
  const text = allow.map(({ days = EVERY_DAY, from, to }) => `${days} ${from}-${to}`).join(', ')
  return {
    ok: true,
    hours: {
      text: `${text} (${zone})`,
      clock: (atMs) => read(atMs).text,
      contains(atMs) {
        const { day, minute } = read(atMs)
        return spans.some((span) => span.days.has(day) && minute >= span.from && minute < span.to)
      },
    },
  }
}

/**
 * The clocks of all zones that were asked for. Each takes 31 kB outside of the heap, and a plan may name one in every
 * contract. There are about 600, however they are written.
 */
const clocks = new Map<string, Clock>()

type Clock = (atMs: number) => LocalTime

function clockOf(zone: string): Clock | null {
  // An offset such as +01:00 knows no summer time, so it is seldom what is meant.
  if (!/^[A-Za-z]/.test(zone)) return null
  const name = zone.toLowerCase()
  const known = clocks.get(name)
  if (known !== undefined) return known
  const format = formatIn(zone)
  if (format === null) return null
  const clock = readerOf(format)
  clocks.set(name, clock)
  return clock
}

function formatIn(zone: string): Intl.DateTimeFormat | null {
  try {
    const parts = { weekday: 'short', hour: '2-digit', minute: '2-digit' } as const
    return new Intl.DateTimeFormat('en-GB', { timeZone: zone, hourCycle: 'h23', ...parts })
  } catch {
    return null
  }
}

interface LocalTime {
  readonly day: string
  readonly minute: number
  readonly text: string
}

/** A proposal asks for many tools at one instant, and calls of one minute have the same answer. */
function readerOf(format: Intl.DateTimeFormat): Clock {
  let lastMinute = Number.NaN
  let last: LocalTime = { day: '', minute: -1, text: '' }
  return (atMs) => {
    const minute = Math.floor(atMs / MINUTE_MS)
    if (minute === lastMinute) return last
    const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, value]))
    const day = (parts.get('weekday') ?? '').slice(0, 3).toLowerCase()
    const time = `${parts.get('hour')}:${parts.get('minute')}`
    lastMinute = minute
    last = { day, minute: minutesOf(time), text: `${day} ${time}` }
    return last
  }
}

const MINUTE_MS = 60_000

const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5))

/** `mon-fri`, `sat,sun`, `fri-mon`: a range may go over the end of the week. */
function daysOf(text: string): ReadonlySet<string> {
  const days = new Set<string>()
  for (const part of text.split(',')) {
    const [first, last = first] = part.split('-') as [string, string?]
    let at = DAYS.indexOf(first as 'mon')
    for (; DAYS[at] !== last; at = (at + 1) % DAYS.length) days.add(DAYS[at] as string)
    days.add(last as string)
  }
  return days
}
