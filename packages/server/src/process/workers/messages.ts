import type { MetricFamily } from '../../base/metric-families.js'

/** What the first process says to a worker. */
export type ToWorker =
  | { readonly start: WorkerOrders }
  | { readonly stop: Stop }
  /** Wants to know the worker's metrics. */
  | { readonly collect: number }
  /** Those of all workers, for the one that asked. */
  | { readonly allMetrics: number; readonly families: readonly MetricFamily[] }

export interface Stop {
  /** Not ready any more, but serving until load balancers have noticed. */
  readonly drains: boolean
}

export interface WorkerOrders {
  /** Of the database that is running already. */
  readonly databaseUrl: string
  readonly number: number
  /** Greets the person at the terminal. */
  readonly greets: boolean
}

/** What a worker says to the first process. */
export type FromWorker =
  /** It hears from now on: what was said before is lost. */
  | { readonly hears: true }
  /** It listens on the port. */
  | { readonly ready: true }
  | { readonly collected: number; readonly families: readonly MetricFamily[] }
  | { readonly wantsMetrics: number }
