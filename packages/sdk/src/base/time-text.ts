const MINUTE_MS = 60_000

let minute = Number.NaN
let upToMinute = ''

/** As `toISOString` writes it, at a fraction of the cost: all but seconds and milliseconds stays for a minute. */
export function timeText(ms: number): string {
  const since = Math.floor(ms / MINUTE_MS)
  if (since !== minute) {
    upToMinute = new Date(since * MINUTE_MS).toISOString().slice(0, -'00.000Z'.length)
    minute = since
  }
  const left = ms - since * MINUTE_MS
  const seconds = Math.floor(left / 1_000)
  return `${upToMinute}${padded(seconds, 10)}${seconds}.${padded(left % 1_000, 100)}${left % 1_000}Z`
}

/** The zeros before a number of as many digits as `from`, itself the least without any. */
function padded(value: number, from: 10 | 100): string {
  if (value >= from) return ''
  return from === 100 && value < 10 ? '00' : '0'
}
