// A separate process that runs governed turns on command: { url, key, sessions, seconds } in, the figures out.
import type { Shares } from './bench-plan.js'
import { type BenchSession, measure, openBenchSession } from './governed-cycles.js'

export interface Order {
  url: string
  key: string
  sessions: number
  seconds: number
  /** The same for all orders of a client. */
  shares?: Shares
}

const open: BenchSession[] = []

process.on('message', (order: Order) => {
  void run(order).then(
    (measured) => process.send?.(measured),
    (error: unknown) => process.send?.({ error: String(error) }),
  )
})

async function run({ url, key, sessions, seconds, shares }: Order) {
  while (open.length < sessions) open.push(await openBenchSession(url, key, shares))
  return measure(
    open.slice(0, sessions).map((session) => session.cycle),
    seconds,
  )
}
