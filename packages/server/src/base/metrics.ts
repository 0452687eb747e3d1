/** Counters, histograms and gauges in the Prometheus text format. Small enough to be our own. */
export interface Metrics {
  /** Adds to a counter. Labels have few values each: routes, statuses, reasons; never ids or tenants. */
  count(name: CounterName, labels?: Labels, by?: number): void
  /** The counter with these labels, for who counts on every request. */
  counter(name: CounterName, labels: Labels): (by: number) => void
  /** The histogram with these labels. */
  histogram(name: HistogramName, labels: Labels): (seconds: number) => void
  /** Registers a gauge that is read when somebody looks. A failed reading leaves it out. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void
  /** Registers a gauge with a value for each value of a label. */
  gaugeBy(name: string, help: string, values: GaugeValues): void
  /** What all of them are worth now, as a page. */
  render(): Promise<string>
}

/** What another thread counted. */
export interface Counted {
  readonly name: CounterName
  readonly labels: Readonly<Record<string, string>>
  readonly by: number
}

export interface GaugeValues {
  readonly label: string
  readonly read: () => ReadonlyMap<string, number> | Promise<ReadonlyMap<string, number>>
}

type Labels = Readonly<Record<string, string>>

export const COUNTERS = {
  countersign_requests_total: 'Requests by route and status',
  countersign_decisions_total: 'Decisions on proposed calls by verdict and reason',
  countersign_policy_errors_total: 'Calls blocked because a Cedar policy failed on them',
  countersign_ledger_events_total: 'Events appended to ledgers by this process',
  countersign_connections_dropped_total: 'Connections refused or cut off by reason',
  countersign_plan_drifts_total: 'Times a learned plan began to ask or block more than it promised',
  countersign_job_runs_total: 'Runs of periodic jobs by outcome',
  countersign_content_mismatches_total: 'Times stored content was found not to match its hash in the ledger',
} as const
export type CounterName = keyof typeof COUNTERS

export const HISTOGRAMS = {
  countersign_request_duration_seconds: 'Time from request to answer by route',
} as const
export type HistogramName = keyof typeof HISTOGRAMS

/** A line of the page: name and labels, and the value. */
type Line = readonly [line: string, value: number]
/** Values by their labels. */
type Series = ReadonlyMap<string, number>

const BOUNDS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

interface Histogram {
  counts: number[]
  sum: number
  total: number
}

export function createMetrics(): Metrics {
  const counters = new Map<string, Map<string, { value: number }>>()
  const histograms = new Map<string, Map<string, Histogram>>()
  const gauges = new Map<string, { help: string; read: () => Series | Promise<Series> }>()
  const counterOf = (name: CounterName, labels: Labels) =>
    inSeries(seriesOf(counters, name), labelText(labels), () => ({ value: 0 }))
  const render = async (): Promise<string> => {
    let page = ''
    const add = (name: string, help: string, type: 'counter' | 'histogram' | 'gauge', lines: readonly Line[]) => {
      page += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
      for (const [line, value] of lines) page += `${line} ${value}\n`
    }
    for (const [name, help] of Object.entries(COUNTERS)) {
      const series = [...(counters.get(name) ?? [])]
      const lines = series.map(([labels, { value }]): Line => [name + braced(labels), value])
      add(name, help, 'counter', lines)
    }
    for (const [name, help] of Object.entries(HISTOGRAMS)) {
      const series = [...(histograms.get(name) ?? [])]
      add(
        name,
        help,
        'histogram',
        series.flatMap(([labels, histogram]) => histogramLines(name, labels, histogram)),
      )
    }
    for (const [name, { help, read }] of gauges) {
      const series = await Promise.resolve()
        .then(read)
        .catch(() => null)
      if (series !== null)
        add(
          name,
          help,
          'gauge',
          [...series].map(([labels, value]) => [name + braced(labels), value]),
        )
    }
    return page
  }
  return {
    count: (name, labels = {}, by = 1) => {
      counterOf(name, labels).value += by
    },
    counter: (name, labels) => {
      const counter = counterOf(name, labels)
      return (by) => {
        counter.value += by
      }
    },
    histogram: (name, labels) => {
      const empty = () => ({ counts: BOUNDS_SECONDS.map(() => 0), sum: 0, total: 0 })
      const histogram: Histogram = inSeries(seriesOf(histograms, name), labelText(labels), empty)
      return (seconds) => {
        const bound = BOUNDS_SECONDS.findIndex((limit) => seconds <= limit)
        if (bound !== -1) histogram.counts[bound] = (histogram.counts[bound] ?? 0) + 1
        histogram.sum += seconds
        histogram.total += 1
      }
    },
    gauge: (name, help, read) => {
      gauges.set(name, { help, read: async () => new Map([['', await read()]]) })
    },
    gaugeBy: (name, help, { label, read }) => {
      gauges.set(name, {
        help,
        read: async () =>
          new Map([...(await read())].map(([value, number]) => [labelText({ [label]: value }), number])),
      })
    },
    render,
  }
}

const seriesOf = <Value>(all: Map<string, Map<string, Value>>, name: string): Map<string, Value> =>
  inSeries(all, name, () => new Map())

/** Labels have few values. Should one ever be somebody's to choose, what comes later is counted together. */
const MAX_SERIES = 1_000

function inSeries<Value>(series: Map<string, Value>, key: string, empty: () => Value): Value {
  const known = series.get(key)
  if (known !== undefined) return known
  if (series.size >= MAX_SERIES && key !== OTHER) return inSeries(series, OTHER, empty)
  const made = empty()
  series.set(key, made)
  return made
}

const OTHER = 'series="other"'

function histogramLines(name: string, labels: string, { counts, sum, total }: Histogram): [string, number][] {
  const prefix = labels === '' ? '' : `${labels},`
  let below = 0
  const buckets = counts.map((count, index): [string, number] => {
    below += count
    return [`${name}_bucket{${prefix}le="${BOUNDS_SECONDS[index]}"}`, below]
  })
  return [
    ...buckets,
    [`${name}_bucket{${prefix}le="+Inf"}`, total],
    [`${name}_sum${braced(labels)}`, sum],
    [`${name}_count${braced(labels)}`, total],
  ]
}

function labelText(labels: Labels): string {
  let text = ''
  for (const name of Object.keys(labels)) text += `${text === '' ? '' : ','}${name}="${escaped(labels[name] ?? '')}"`
  return text
}

const escaped = (value: string) =>
  /["\\\n]/.test(value) ? value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n') : value

const braced = (labels: string) => (labels === '' ? '' : `{${labels}}`)
