import { hashPlan, type Plan, preparePlan } from '@countersign/engine'
import type { LedgerExport } from '@countersign/protocol'
import { type PackedText, packText, unpackText } from '../base/packed-text.js'

type Compiled = NonNullable<LedgerExport['compiled_session']>

/** A plan of an archive, made ready once. */
export interface ReadyPlan {
  readonly compiled: Compiled
  /** For checking a session by it. The plan is null if it cannot be used. */
  readonly known: { readonly plan: Plan | null; readonly hash: string }
}

/** Characters of JSON of the plans that are ready: they take about 25 times as much memory. */
const MOST_READY = 2_000_000

/**
 * The plans of an archive while it is read. They wait packed until a session needs them, and those used last stay ready: a
 * file may hold hundreds of megabytes of them.
 */
export function collectPlans(prepare: (compiled: Compiled) => Plan | null = preparedOrNull, mostReady = MOST_READY) {
  const packed = new Map<string, PackedText>()
  const ready = new Map<string, ReadyPlan & { readonly characters: number }>()
  let characters = 0
  return {
    /** The row as JSON. */
    add: (hash: string, json: string): void => {
      packed.set(hash, packText(json))
    },
    /** Null: the archive has none by this hash. */
    get: (hash: string): ReadyPlan | null => {
      const found = ready.get(hash)
      if (found !== undefined) {
        ready.delete(hash)
        ready.set(hash, found)
        return found
      }
      const waiting = packed.get(hash)
      if (waiting === undefined) return null
      const json = unpackText(waiting)
      characters += json.length
      for (const [oldest, { characters: freed }] of ready) {
        if (characters <= mostReady) break
        ready.delete(oldest)
        characters -= freed
      }
      const { compiled_session: compiled } = JSON.parse(json) as { compiled_session: Compiled }
      const made = { compiled, known: { plan: prepare(compiled), hash: hashPlan(compiled) }, characters: json.length }
      ready.set(hash, made)
      return made
    },
  }
}

function preparedOrNull(compiled: Compiled): Plan | null {
  const prepared = preparePlan(compiled)
  return prepared.ok ? prepared.plan : null
}
