import { BLOCK_REASON_NAMES, ROUTES } from '@countersign/protocol'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'

/** What the process counts and measures, by the tables below. */
export interface Metrics {
  /** Adds to a counter. Labels have few values each: routes, statuses, reasons; never ids or tenants. */
  count(name: CounterName, labels?: Labels, by?: number): void
  observe(name: HistogramName, labels: Labels, seconds: number): void
  /** A gauge that is read when the page is. A failed reading leaves it out. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void
  /** A gauge with a value for each value of a label. */
  gaugeBy(name: string, help: string, values: GaugeValues): void
  readonly registry: Registry
}

/** What another thread counted. */
export interface Counted {
  readonly name: CounterName
  readonly labels: Labels
  readonly by: number
}

export interface GaugeValues {
  readonly label: string
  readonly read: () => ReadonlyMap<string, number> | Promise<ReadonlyMap<string, number>>
}

type Labels = Readonly<Record<string, string>>

interface CounterRow {
  readonly help: string
  /** Series that are 0 before anything is counted, so that `increase` sees the first event. */
  readonly from?: readonly Labels[]
  readonly labels?: readonly string[]
}

const DROPPED = ['too_many', 'unreadable']

const COUNTERS = {
  countersign_requests_total: {
    help: 'Requests by route and status',
    labels: ['route', 'status'],
    from: Object.keys(ROUTES).flatMap((route) => ['200', '500', '503'].map((status) => ({ route, status }))),
  },
  countersign_decisions_total: {
    help: 'Decisions on proposed calls by verdict and reason',
    labels: ['decision', 'reason'],
    from: [{ decision: 'allow', reason: '' }, ...BLOCK_REASON_NAMES.map((reason) => ({ decision: 'block', reason }))],
  },
  countersign_policy_errors_total: { help: 'Calls blocked because a Cedar policy failed on them' },
  countersign_ledger_events_total: { help: 'Events appended to ledgers by this process' },
  countersign_connections_dropped_total: {
    help: 'Connections refused or cut off by reason',
    labels: ['reason'],
    from: DROPPED.map((reason) => ({ reason })),
  },
  countersign_plan_drifts_total: { help: 'Times a learned plan began to ask or block more than it promised' },
  countersign_job_runs_total: { help: 'Runs of periodic jobs by outcome', labels: ['job', 'outcome'] },
  countersign_content_mismatches_total: {
    help: 'Times stored content was found not to match its hash in the ledger',
  },
} as const satisfies Record<string, CounterRow>
export type CounterName = keyof typeof COUNTERS

const HISTOGRAMS = {
  countersign_request_duration_seconds: { help: 'Time from request to answer by route', labels: ['route'] },
} as const
export type HistogramName = keyof typeof HISTOGRAMS

const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const counters = new Map(
    Object.entries<CounterRow>(COUNTERS).map(([name, { help, labels = [], from = [] }]) => {
      const counter = new Counter({ name, help, labelNames: labels, registers })
      for (const series of from) counter.inc(series, 0)
      return [name, counter]
    }),
  )
  const histograms = new Map(
    Object.entries(HISTOGRAMS).map(([name, { help, labels }]) => [
      name,
      new Histogram({ name, help, labelNames: labels, buckets: BUCKETS_SECONDS, registers }),
    ]),
  )
  return {
    registry,
    count: (name, labels = {}, by = 1) => counters.get(name)?.inc(labels, by),
    observe: (name, labels, seconds) => histograms.get(name)?.observe(labels, seconds),
    gauge: (name, help, read) => {
      new Gauge({
        name,
        help,
        registers,
        async collect() {
          this.remove()
          const value = await readOr(read, null)
          if (value !== null) this.set(value)
        },
      })
    },
    gaugeBy: (name, help, { label, read }) => {
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers,
        async collect() {
          this.reset()
          for (const [value, number] of await readOr(read, new Map())) this.set({ [label]: value }, number)
        },
      })
    },
  }
}

const readOr = async <Value, Other>(read: () => Value | Promise<Value>, other: Other): Promise<Value | Other> => {
  try {
    return await read()
  } catch {
    return other
  }
}
