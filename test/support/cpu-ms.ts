/** What some work takes, in milliseconds of processor time: a busy machine finds about the same as an idle one. */
export function cpuMs(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
