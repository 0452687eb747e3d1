import type { Decision, Fact, JsonObject, JsonValue, LedgerCall, LedgerDraw } from '@countersign/protocol'
import type { PreparedBind, PreparedContract } from '../contract/plan.js'
import { type ResourceMode, renderResource } from '../contract/resource.js'
import { decimalText, isAmount } from '../json/decimal.js'
import { saltedHash } from '../json/hash.js'
import type { CompiledPath } from '../json/json-path.js'
import { jsonTypeOf } from '../json/json-type.js'
import { lookUp, setEntry } from '../json/look-up.js'
import { slotOf } from '../state/kept-values.js'
import type { Amounts } from './rules/amounts.js'
import type { CallKeys } from './rules/call-keys.js'
import type { CallDraws, Draw } from './rules/draws.js'
import { consumedBy, witnessOf } from './rules/order.js'

type Effects = Pick<
  LedgerCall,
  | 'rolls_back'
  | 'advances_to'
  | 'adds_labels'
  | 'amounts'
  | 'binds'
  | 'establishes'
  | 'witnesses'
  | 'resources'
  | 'keys'
  | 'consumes'
  | 'draws'
>

/** Deeply frozen: calls of all sessions share it. */
const NO_EFFECTS: Effects = Object.freeze({
  rolls_back: false,
  advances_to: null,
  adds_labels: Object.freeze<string[]>([]) as string[],
  amounts: Object.freeze({}),
  binds: Object.freeze({}),
  establishes: Object.freeze({}),
  witnesses: Object.freeze({}),
  resources: Object.freeze<Effects['resources']>([]) as Effects['resources'],
  keys: undefined,
  consumes: undefined,
  draws: undefined,
})

/** A call in the ledger: its decision, and what it may do to the session later. */
export function callRecord(decision: Decision, effects: Effects = NO_EFFECTS): LedgerCall {
  const { reasons, checkpoints } = decision
  return {
    index: decision.index,
    call_id: decision.call_id,
    tool_name: decision.tool_name,
    decision: decision.decision,
    pending_call_id: decision.pending_call_id,
    argument_hash: decision.argument_hash,
    reasons: reasons.length === 0 ? [] : [...new Set(reasons.map(({ reason }) => reason))],
    commit_requirement: decision.commit_requirement,
    rolls_back: effects.rolls_back,
    checkpoints: checkpoints.map(({ checkpoint_id: id }) => id),
    advances_to: effects.advances_to,
    adds_labels: effects.adds_labels,
    amounts: effects.amounts,
    binds: effects.binds,
    establishes: effects.establishes,
    witnesses: effects.witnesses,
    resources: effects.resources,
    keys: effects.keys,
    consumes: effects.consumes,
    draws: effects.draws,
  }
}

/** What judging found out about a call. */
export interface JudgedValues {
  readonly amounts: Amounts
  readonly keys: CallKeys
  readonly draws: CallDraws
  readonly salt: string
}

/** What an allowed call does once it is registered. */
export interface Consequences {
  readonly effects: Effects
  readonly holds: readonly HeldResource[]
}

export function consequencesOf(
  contract: PreparedContract | null,
  args: JsonObject,
  judged: JudgedValues,
): Consequences {
  const holds = contract === null ? NOTHING_HELD : resourcesOf(contract, args)
  return { effects: effectsOf(contract, args, judged, holds), holds }
}

/** Everything a registered call may do to the session later, without its content. */
export function effectsOf(
  contract: PreparedContract | null,
  args: JsonObject,
  { amounts: { added }, keys, draws: { draws }, salt }: JudgedValues,
  holds: readonly HeldResource[],
): Effects {
  if (contract === null) return draws.length === 0 ? NO_EFFECTS : { ...NO_EFFECTS, draws: drawRecords(draws) }
  const { definition, provides } = contract
  const find = (path: CompiledPath) => path.first(args)
  const consumes = consumedBy(contract, args, salt)
  return {
    rolls_back: contract.rollsBack,
    advances_to: definition.transitions?.advances_to ?? null,
    adds_labels: contract.addsLabels.length === 0 ? [] : [...new Set(contract.addsLabels.map(({ label }) => label))],
    amounts: added.length === 0 ? {} : amountsByName(added),
    binds: bindFacts(contract.binds, 'argument', { find, keys: keys.hashes }, salt),
    establishes: establishedValues(contract.establishes, 'argument', { find, keys: keys.hashes }),
    witnesses: provides.length === 0 ? {} : witnessesOf(provides, args, salt),
    resources: holds.map(({ key, mode }) => ({ key_hash: saltedHash(salt, key), mode })),
    keys: contract.keys.length === 0 ? undefined : keys.hashes,
    consumes: consumes.length === 0 ? undefined : [...consumes],
    draws: draws.length === 0 ? undefined : drawRecords(draws),
  }
}

/** What is taken of shared limits, for the ledger. */
export const drawRecords = (draws: readonly Draw[]): LedgerDraw[] =>
  draws.map(({ limit, id, amount }) => ({ limit: limit.name, id, amount }))

function amountsByName(added: Amounts['added']): Effects['amounts'] {
  const amounts: Record<string, string> = {}
  for (const { aggregate, slot, amount } of added) if (aggregate.function !== 'max') setEntry(amounts, slot, amount)
  return amounts
}

export const witnessesOf = (
  provides: PreparedContract['provides'],
  args: JsonObject,
  salt: string,
): Effects['witnesses'] =>
  Object.fromEntries(
    provides.flatMap(({ key, same }) => {
      const witness = same.length === 0 ? null : witnessOf(same, args, salt)
      return witness === null ? [] : [[key, witness]]
    }),
  )

/** Where values are read from, and the keys they are kept under. */
export interface ValueSource {
  find(path: CompiledPath): JsonValue | undefined
  readonly keys: Readonly<Record<string, string>>
}

export function bindFacts(
  binds: readonly PreparedBind[],
  from: PreparedBind['from'],
  source: ValueSource,
  salt: string,
): Record<string, Fact> {
  if (binds.length === 0) return {}
  return Object.fromEntries(
    binds.flatMap((bind): [string, Fact][] => {
      const value = bind.from === from && bind.rows === null ? source.find(bind.path) : undefined
      const slot = slotOfBind(bind, source.keys)
      return value === undefined || slot === null ? [] : [[slot, factOf(value, salt)]]
    }),
  )
}

/** Where the value of a call stands, by the keys in its record. Null: its key is not known, so nothing is kept. */
export function slotOfBind({ name, key }: PreparedBind, keys: ValueSource['keys']): string | null {
  if (key === null) return name
  const hash = lookUp(keys, key.expression)
  return hash === undefined ? null : slotOf(name, hash)
}

/** Only a number can establish an envelope. */
export function establishedValues(
  binds: readonly PreparedBind[],
  from: PreparedBind['from'],
  source: ValueSource,
): Record<string, string> {
  if (binds.length === 0) return {}
  return Object.fromEntries(
    binds.flatMap((bind): [string, string][] => {
      const value = bind.from === from && bind.rows === null ? source.find(bind.path) : undefined
      const slot = slotOfBind(bind, source.keys)
      return slot !== null && isAmount(value) ? [[slot, decimalText(value)]] : []
    }),
  )
}

export function factOf(value: JsonValue, salt: string): Fact {
  const hash = saltedHash(salt, value)
  if (isAmount(value)) return { hash, decimal: decimalText(value) }
  if (typeof value === 'boolean') return { hash, boolean: value }
  const type = jsonTypeOf(value)
  return type === 'string' || type === 'boolean' ? { hash } : { hash, type }
}

/** A resource that a call holds. */
export interface HeldResource {
  readonly key: string
  readonly mode: ResourceMode
}

/** A call whose resource key cannot be rendered was blocked already. */
export function resourcesOf({ resources }: PreparedContract, args: JsonObject): readonly HeldResource[] {
  if (resources.length === 0) return NOTHING_HELD
  return resources.flatMap((resource) => {
    const key = renderResource(resource, args)
    return key === null ? [] : [{ key, mode: resource.mode }]
  })
}

const NOTHING_HELD: readonly HeldResource[] = []
