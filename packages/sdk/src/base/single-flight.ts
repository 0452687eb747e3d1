/** Work that is done once for all who ask for it while it is under way. */
export interface SingleFlight<T> {
  run(): Promise<T>
  /** Null when nothing is under way. */
  underWay(): Promise<T> | null
}

export function singleFlight<T>(work: () => Promise<T>): SingleFlight<T> {
  let flight: Promise<T> | null = null
  return {
    run() {
      flight ??= work().finally(() => {
        flight = null
      })
      return flight
    },
    underWay: () => flight,
  }
}
