import { type Fact, type JsonValue, LIMITS } from '@countersign/protocol'
import type { KeptKind, PreparedBind, PreparedContract } from '../contract/plan.js'
import { decimalText, isAmount } from '../json/decimal.js'
import { equalValues } from '../json/equal-values.js'
import { keyCount } from '../state/kept-values.js'
import type { SessionState } from '../state/state.js'
import { factOf } from './call-effects.js'
import { slotOfKey } from './rules/call-keys.js'
import { allKeys } from './rules/keys.js'

type Outputs = Readonly<Record<string, JsonValue>>

/** What the rows of a result bind and establish. */
export interface RowValues {
  readonly binds: Readonly<Record<string, Fact>>
  readonly establishes: Readonly<Record<string, string>>
  /** Envelopes of rows that give no number: the earlier bound ends. */
  readonly ends: readonly string[]
}

/** Counts what a batch of receipts adds, since a session keeps so many keys and forgets none. */
export class Room {
  private readonly added = new Map<string, Set<string>>()
  private all: number

  constructor(private readonly state: SessionState) {
    this.all = allKeys(state)
    const { binds = {}, establishes = {} } = state.open?.effects ?? {}
    for (const slot of Object.keys(binds)) this.takes('bindings', slot)
    for (const slot of Object.keys(establishes)) this.takes('envelopes', slot)
  }

  /** True if a value may stand there. */
  takes(kind: KeptKind, slot: string): boolean {
    if (Object.hasOwn(this.state[kind], slot)) return true
    const countedAs = `${kind}.${slot.slice(0, slot.indexOf('#'))}`
    const own = this.added.get(countedAs) ?? new Set()
    this.added.set(countedAs, own)
    if (own.has(slot)) return true
    const isFull = keyCount(this.state, countedAs) + own.size >= LIMITS.keysPerName || this.all >= LIMITS.keysPerSession
    if (isFull || !slot.includes('#')) return !isFull
    own.add(slot)
    this.all += 1
    return true
  }
}

const NOTHING: RowValues = { binds: {}, establishes: {}, ends: [] }

export function rowValues(contract: PreparedContract, outputs: Outputs, salt: string, room: Room): RowValues {
  if (![...contract.binds, ...contract.establishes].some(({ rows }) => rows !== null)) return NOTHING
  const binds: [string, Fact][] = []
  const establishes: [string, string][] = []
  const ends: string[] = []
  for (const [slot, value] of contract.binds.flatMap((bind) => valuesByKey(bind, outputs, salt))) {
    if (value !== undefined && room.takes('bindings', slot)) binds.push([slot, factOf(value, salt)])
  }
  for (const [slot, value] of contract.establishes.flatMap((bind) => valuesByKey(bind, outputs, salt))) {
    if (!isAmount(value)) ends.push(slot)
    else if (room.takes('envelopes', slot)) establishes.push([slot, decimalText(value)])
  }
  return { binds: Object.fromEntries(binds), establishes: Object.fromEntries(establishes), ends }
}

/** By slot the value of all rows with its key; undefined where a row has none, or where they differ. */
function valuesByKey({ name, rows }: PreparedBind, outputs: Outputs, salt: string): [string, JsonValue | undefined][] {
  const list = rows === null || !Object.hasOwn(outputs, rows) ? [] : outputs[rows]
  const values = new Map<string, JsonValue | undefined>()
  for (const row of Array.isArray(list) ? list.slice(0, LIMITS.rowsPerBinding) : []) {
    const [key, value] = Array.isArray(row) ? row : []
    const slot = slotOfKey(name, key, salt)
    if (slot === null) continue
    const known = values.get(slot)
    const isOne = !values.has(slot) || (known !== undefined && value !== undefined && equalValues(known, value))
    values.set(slot, isOne ? value : undefined)
  }
  return [...values]
}
