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
  /** What the calls run again, of which the newest result counts, named like openings. */
  readonly reruns: ReadonlySet<string>
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
  reruns: new Set(),
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
  readonly reruns: readonly Opening[]
  readonly checkpoints: number
  /** What is taken of shared limits, this call included. */
  readonly shared: Tally['shared']
}

/** How a tally names an opening. */
export const openingName = ({ key, witness }: Opening): string => `${key} ${witness ?? ''}`

/** The tally with one more allowed call. */
export const tallyCall = (tally: Tally, call: TalliedCall, state: SessionState): Tally =>
  addCall(copyOfTally(tally), call, state)

/** A tally that is still being counted. */
export interface OpenTally extends Tally {
  used: Map<string, number>
  calls: number
  newNames: number
  aggregates: Map<string, string>
  newKeys: Map<string, Set<string>>
  consumed: Map<string, number>
  reruns: Set<string>
  recent: { readonly tool: string; readonly hash: string }[]
  checkpoints: number
  labels: Set<string>
  shared: Tally['shared']
}

export const copyOfTally = (tally: Tally): OpenTally => ({
  used: new Map(tally.used),
  calls: tally.calls,
  newNames: tally.newNames,
  aggregates: new Map(tally.aggregates),
  newKeys: new Map([...tally.newKeys].map(([name, slots]) => [name, new Set(slots)])),
  consumed: new Map(tally.consumed),
  reruns: new Set(tally.reruns),
  recent: [...tally.recent],
  checkpoints: tally.checkpoints,
  labels: new Set(tally.labels),
  shared: tally.shared,
})

/** Adds a call to a tally, without a copy: a response can hold thousands of what the provider ran. */
export function addCall(tally: OpenTally, call: TalliedCall, state: SessionState): OpenTally {
  const before = tally.used.get(call.tool) ?? 0
  if (before === 0 && !Object.hasOwn(state.used, call.tool)) tally.newNames += 1
  tally.used.set(call.tool, before + 1)
  tally.calls += 1
  for (const [slot, total] of call.aggregates) tally.aggregates.set(slot, total)
  for (const [name, slot] of call.newKeys) tally.newKeys.set(name, (tally.newKeys.get(name) ?? new Set()).add(slot))
  for (const opening of call.consumes) {
    const name = openingName(opening)
    tally.consumed.set(name, (tally.consumed.get(name) ?? 0) + 1)
  }
  for (const rerun of call.reruns) tally.reruns.add(openingName(rerun))
  tally.recent.push({ tool: call.tool, hash: call.argumentHash })
  tally.checkpoints += call.checkpoints
  for (const { label } of call.contract?.addsLabels ?? []) tally.labels.add(label)
  tally.shared = call.shared
  return tally
}
