// A separate process that runs governed turns on command: { url, key, sessions, seconds } in, the figures out.
import { type BenchSession, measure, openBenchSession } from './governed-cycles.js'

export interface Order {
  url: string
  key: string
  sessions: number
  seconds: number
}

const open: BenchSession[] = []

process.on('message', (order: Order) => {
  void run(order).then(
    (measured) => process.send?.(measured),
    (error: unknown) => process.send?.({ error: String(error) }),
  )
})

async function run({ url, key, sessions, seconds }: Order) {
  while (open.length < sessions) open.push(await openBenchSession(url, key))
  return measure(
    open.slice(0, sessions).map((session) => session.cycle),
    seconds,
  )
}
