export const HOUR_MS = 3_600_000

/** Pages that show the last 30 days begin at the same moment, so that their numbers agree. */
export const MONTH_MS = 30 * 24 * HOUR_MS

/** When a period up to now begins: at the start of a minute or an hour, by which decisions are counted. */
export const startOf = (nowMs: number, periodMs: number, grainMs = HOUR_MS): Date =>
  new Date(Math.floor(nowMs / grainMs) * grainMs - periodMs)
