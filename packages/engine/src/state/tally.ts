import type { PreparedContract } from '../contract/plan.js'
import type { SessionState } from './state.js'

/** What the allowed calls of one response add to the session so far, before anything is recorded. */
export interface Tally {
  readonly used: ReadonlyMap<string, number>
  readonly calls: number
  readonly newNames: number
  readonly aggregates: ReadonlyMap<string, string>
  readonly recent: readonly { readonly tool: string; readonly hash: string }[]
  readonly checkpoints: number
  readonly labels: ReadonlySet<string>
}

export const EMPTY_TALLY: Tally = {
  used: new Map(),
  calls: 0,
  newNames: 0,
  aggregates: new Map(),
  recent: [],
  checkpoints: 0,
  labels: new Set(),
}

/** The part of an allowed call that narrows what may follow. */
export interface TalliedCall {
  readonly tool: string
  readonly contract: PreparedContract | null
  readonly argumentHash: string
  /** The new total of each aggregate that the call adds to. */
  readonly aggregates: ReadonlyMap<string, string>
  readonly checkpoints: number
}

/** The tally with one more allowed call. */
export function tallyCall(tally: Tally, call: TalliedCall, state: SessionState): Tally {
  const before = tally.used.get(call.tool) ?? 0
  const isNew = before === 0 && !Object.hasOwn(state.used, call.tool)
  const labels = call.contract?.definition.labels?.adds ?? []
  return {
    used: new Map(tally.used).set(call.tool, before + 1),
    calls: tally.calls + 1,
    newNames: tally.newNames + (isNew ? 1 : 0),
    aggregates: call.aggregates.size === 0 ? tally.aggregates : new Map([...tally.aggregates, ...call.aggregates]),
    recent: [...tally.recent, { tool: call.tool, hash: call.argumentHash }],
    checkpoints: tally.checkpoints + call.checkpoints,
    labels: labels.length === 0 ? tally.labels : new Set([...tally.labels, ...labels]),
  }
}
