import type { Opening } from '@countersign/protocol'
import type { PreparedContract } from '../contract/plan.js'
import type { SessionState } from './state.js'

/** What the allowed calls of one response add to the session so far, before anything is recorded. */
export interface Tally {
  readonly used: ReadonlyMap<string, number>
  readonly calls: number
  readonly newNames: number
  /** Totals by slot. */
  readonly aggregates: ReadonlyMap<string, string>
  /** What is kept per key: slots that the session does not have yet, by kind and name. */
  readonly newKeys: ReadonlyMap<string, ReadonlySet<string>>
  /** Openings that were used up, by precondition key and witness. */
  readonly consumed: ReadonlyMap<string, number>
  readonly recent: readonly { readonly tool: string; readonly hash: string }[]
  readonly checkpoints: number
  readonly labels: ReadonlySet<string>
  /** What is taken of limits that sessions share, by id. */
  readonly shared: ReadonlyMap<string, string>
}

export const EMPTY_TALLY: Tally = {
  used: new Map(),
  calls: 0,
  newNames: 0,
  aggregates: new Map(),
  newKeys: new Map(),
  consumed: new Map(),
  recent: [],
  checkpoints: 0,
  labels: new Set(),
  shared: new Map(),
}

/** The part of an allowed call that narrows what may follow. */
export interface TalliedCall {
  readonly tool: string
  readonly contract: PreparedContract | null
  readonly argumentHash: string
  /** The new total of each aggregate that the call adds to. */
  readonly aggregates: ReadonlyMap<string, string>
  /** The slots that the call adds, by kind and name. */
  readonly newKeys: ReadonlyMap<string, string>
  readonly consumes: readonly Opening[]
  readonly checkpoints: number
  /** What is taken of shared limits, this call included. */
  readonly shared: Tally['shared']
}

/** How a tally names an opening. */
export const openingName = ({ key, witness }: Opening): string => `${key} ${witness ?? ''}`

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
    newKeys: call.newKeys.size === 0 ? tally.newKeys : joined(tally.newKeys, call.newKeys),
    consumed: call.consumes.length === 0 ? tally.consumed : counted(tally.consumed, call.consumes),
    recent: [...tally.recent, { tool: call.tool, hash: call.argumentHash }],
    checkpoints: tally.checkpoints + call.checkpoints,
    labels: labels.length === 0 ? tally.labels : new Set([...tally.labels, ...labels]),
    shared: call.shared,
  }
}

function joined(newKeys: Tally['newKeys'], added: TalliedCall['newKeys']): Tally['newKeys'] {
  const next = new Map(newKeys)
  for (const [name, slot] of added) next.set(name, new Set([...(next.get(name) ?? []), slot]))
  return next
}

function counted(consumed: Tally['consumed'], openings: readonly Opening[]): Tally['consumed'] {
  const next = new Map(consumed)
  for (const opening of openings) next.set(openingName(opening), (next.get(openingName(opening)) ?? 0) + 1)
  return next
}
