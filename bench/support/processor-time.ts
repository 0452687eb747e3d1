import { readdirSync, readFileSync } from 'node:fs'

/** Linux counts processor time in hundredths of a second, whatever its clock. */
const MS_PER_TICK = 10

/** Processor time of a process since it started, in milliseconds; with `andChildren` that of its living children as well. */
export function processorMs(pid: number, { andChildren = false } = {}): number {
  const own = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .flatMap((id) => statOf(id) ?? [])
    .filter((stat) => stat.pid === pid || (andChildren && stat.parent === pid))
  return own.reduce((sum, { ticks }) => sum + ticks, 0) * MS_PER_TICK
}

/** Null when it has ended. */
function statOf(pid: number): { pid: number; parent: number; ticks: number } | null {
  try {
    // The name before the bracket may hold anything.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
      .map(Number)
    return { pid, parent: fields[1] ?? 0, ticks: (fields[11] ?? 0) + (fields[12] ?? 0) }
  } catch {
    return null
  }
}
