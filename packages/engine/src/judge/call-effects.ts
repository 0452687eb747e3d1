import type { Decision, Fact, JsonObject, JsonValue, LedgerCall } from '@countersign/protocol'
import type { PreparedBind, PreparedContract } from '../contract/plan.js'
import { type ResourceMode, renderResource } from '../contract/resource.js'
import { decimalText } from '../json/decimal.js'
import { saltedHash } from '../json/hash.js'
import type { Amounts } from './rules/amounts.js'
import { witnessOf } from './rules/order.js'

type Effects = Pick<
  LedgerCall,
  'rolls_back' | 'advances_to' | 'adds_labels' | 'amounts' | 'binds' | 'establishes' | 'witnesses' | 'resources'
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
  }
}

/** What an allowed call does once it is registered. */
export interface Consequences {
  readonly effects: Effects
  readonly holds: readonly HeldResource[]
}

export function consequencesOf(
  contract: PreparedContract | null,
  args: JsonObject,
  amounts: Amounts,
  salt: string,
): Consequences {
  const holds = contract === null ? NOTHING_HELD : resourcesOf(contract, args)
  return { effects: effectsOf(contract, args, amounts, { holds, salt }), holds }
}

/** Everything a registered call may do to the session later, without its content. */
export function effectsOf(
  contract: PreparedContract | null,
  args: JsonObject,
  { added }: Amounts,
  { holds, salt }: { readonly holds: readonly HeldResource[]; readonly salt: string },
): Effects {
  if (contract === null) return NO_EFFECTS
  const { definition, provides } = contract
  return {
    rolls_back: contract.rollsBack,
    advances_to: definition.transitions?.advances_to ?? null,
    adds_labels: definition.labels?.adds ?? [],
    amounts: added.length === 0 ? {} : amountsByName(added),
    binds: bindFacts(contract.binds, 'argument', (path) => path.first(args), salt),
    establishes: establishedValues(contract.establishes, 'argument', (path) => path.first(args)),
    witnesses: provides.length === 0 ? {} : witnessesOf(provides, args, salt),
    resources: holds.map(({ key, mode }) => ({ key_hash: saltedHash(salt, key), mode })),
  }
}

const amountsByName = (added: Amounts['added']): Effects['amounts'] =>
  Object.fromEntries(
    added
      .filter(({ aggregate }) => aggregate.function !== 'max')
      .map(({ aggregate, amount }) => [aggregate.name, amount]),
  )

const witnessesOf = (provides: PreparedContract['provides'], args: JsonObject, salt: string): Effects['witnesses'] =>
  Object.fromEntries(
    provides.flatMap(({ key, same }) => {
      const witness = same.length === 0 ? null : witnessOf(same, args, salt)
      return witness === null ? [] : [[key, witness]]
    }),
  )

type Find = (path: PreparedBind['path']) => JsonValue | undefined

export function bindFacts(
  binds: readonly PreparedBind[],
  from: PreparedBind['from'],
  find: Find,
  salt: string,
): Record<string, Fact> {
  if (binds.length === 0) return {}
  return Object.fromEntries(
    binds.flatMap((bind): [string, Fact][] => {
      const value = bind.from === from ? find(bind.path) : undefined
      return value === undefined ? [] : [[bind.name, factOf(value, salt)]]
    }),
  )
}

/** Only a number can establish an envelope. */
export function establishedValues(
  binds: readonly PreparedBind[],
  from: PreparedBind['from'],
  find: Find,
): Record<string, string> {
  if (binds.length === 0) return {}
  return Object.fromEntries(
    binds.flatMap((bind): [string, string][] => {
      const value = bind.from === from ? find(bind.path) : undefined
      return typeof value === 'number' && Number.isFinite(value) ? [[bind.name, decimalText(value)]] : []
    }),
  )
}

function factOf(value: JsonValue, salt: string): Fact {
  const hash = saltedHash(salt, value)
  if (typeof value === 'number') return { hash, decimal: decimalText(value) }
  return typeof value === 'boolean' ? { hash, boolean: value } : { hash }
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
