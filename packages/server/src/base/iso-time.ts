/**
 * A time as `toISOString` writes it, which takes a microsecond; a turn has some fifteen times to write. They lie within
 * few minutes, and up to the minute they look alike.
 */
export function isoTime(time: Date): string {
  const ms = time.getTime()
  const minute = Math.floor(ms / MINUTE_MS)
  const digits = String(LEADING_DIGIT + ms - minute * MINUTE_MS)
  return `${beginning(minute, time)}${digits.slice(1, 3)}.${digits.slice(3)}Z`
}

const MINUTE_MS = 60_000
/** Seconds and milliseconds are five digits behind it, whatever they are. */
const LEADING_DIGIT = 100_000
const MAX_MINUTES = 256

const BEGINNINGS = new Map<number, string>()

function beginning(minute: number, time: Date): string {
  const known = BEGINNINGS.get(minute)
  if (known !== undefined) return known
  if (BEGINNINGS.size >= MAX_MINUTES) BEGINNINGS.clear()
  const made = time.toISOString().slice(0, -'00.000Z'.length)
  BEGINNINGS.set(minute, made)
  return made
}
