const numbers = new Intl.NumberFormat('en-US')
const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })
const moment = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'short',
})
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const dayAndYear = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const clockMinutes = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })

export const count = (value: number): string =>
  Math.abs(value) >= 100_000 ? compact.format(value) : numbers.format(value)
export const dataSize = (bytes: number): string => {
  const [unit, name] = bytes >= 1e12 ? [1e12, 'TB'] : bytes >= 1e9 ? [1e9, 'GB'] : [1e6, 'MB']
  // Rounded down: what is left is never shown as more.
  return `${numbers.format(Math.floor((bytes / unit) * 10) / 10)} ${name}`
}
export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`
/** Of a count that may have stopped before the end: `10,000+`. */
export const countOrMore = (value: number, isMore = false): string => `${count(value)}${isMore ? '+' : ''}`
export const percent = (share: number): string => {
  const value = share * 100
  // Never round a share up to 100% or down to 0%.
  if (value > 99.9 && value < 100) return '> 99.9%'
  if (value > 0 && value < 0.1) return '< 0.1%'
  return `${Number.isInteger(value) ? value : value.toFixed(1)}%`
}
/** What is said of covered calls, on every page. */
export const COVERED = 'were under a contract in force'

export const money = (value: number): string =>
  value === 0 ? '0' : value < 1 ? String(Number(value.toPrecision(3))) : value.toFixed(2)

/** With the time zone, because logs it is compared with may use another. */
export const fullTime = (iso: string): string => moment.format(new Date(iso))
const clockTime = (iso: string): string => clock.format(new Date(iso))
export const shortTime = (date: Date, spanSeconds: number): string =>
  spanSeconds >= 20 * 3_600 ? day.format(date) : clockMinutes.format(date)
/** The label of an axis: over days their dates, within a day the time, and at midnight the date that begins. */
export const axisTime = (date: Date, rangeSeconds: number): string =>
  rangeSeconds > 2 * 86_400 || (date.getHours() === 0 && date.getMinutes() === 0 && rangeSeconds > 7_200)
    ? day.format(date)
    : clockMinutes.format(date)
export const dayTime = (date: Date): string => `${day.format(date)}, ${clockMinutes.format(date)}`
/** The time, with the date when it differs from the date of the previous event. */
export const timeAfter = (iso: string, before: string | undefined): string => {
  const date = dayAndYear.format(new Date(iso))
  return before !== undefined && dayAndYear.format(new Date(before)) === date
    ? clockTime(iso)
    : `${date}, ${clockTime(iso)}`
}
/** The time zone of times shown without one, such as `GMT+1`. */
export const zoneName = (at = new Date()): string =>
  moment.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? 'UTC'

/** `4 min ago`; a date when older than a week. */
export function ago(iso: string, now = Date.now()): string {
  const date = new Date(iso)
  const seconds = Math.round((now - date.getTime()) / 1_000)
  if (seconds < 0) return fullTime(iso)
  if (seconds < 10) return 'just now'
  if (seconds < 60) return `${seconds} s ago`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ago`
  if (seconds < 7 * 86_400) return plural(Math.floor(seconds / 86_400), 'day').concat(' ago')
  return date.getFullYear() === new Date(now).getFullYear() ? day.format(date) : dayAndYear.format(date)
}

/** `in 12 days`, rounded down. */
export function until(iso: string, now = Date.now()): string {
  const seconds = Math.floor((new Date(iso).getTime() - now) / 1_000)
  if (seconds < 60) return 'within a minute'
  if (seconds < 3_600) return `in ${Math.floor(seconds / 60)} min`
  if (seconds < 2 * 86_400) return `in ${Math.floor(seconds / 3_600)} h`
  return `in ${plural(Math.floor(seconds / 86_400), 'day')}`
}

export function duration(fromIso: string, toIso: string): string {
  const ms = new Date(toIso).getTime() - new Date(fromIso).getTime()
  if (ms < 1_000) return `${Math.max(0, ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`
  return `${Math.floor(ms / 3_600_000)} h ${Math.round((ms % 3_600_000) / 60_000)} min`
}

export const shortHash = (hash: string): string => hash.slice(0, 10)
export const words = (name: string): string => name.replaceAll('_', ' ')
export const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** A message of the server without its leading tool name, for places that already show the name. */
export function afterName(tool: string | null, sentence: string): string {
  const opening = tool === null ? undefined : [`${tool}: `, `${tool} `].find((start) => sentence.startsWith(start))
  return opening === undefined ? sentence : sentence.slice(opening.length)
}
