import type { JsonObject, JsonValue } from '@countersign/protocol'
import type { PreparedAggregate, PreparedContract } from '../../contract/plan.js'
import { addDecimals, compareDecimals, decimalText, isAmount } from '../../json/decimal.js'
import { lookUp } from '../../json/look-up.js'
import { slotOf } from '../../state/kept-values.js'
import type { SessionState } from '../../state/state.js'
import type { Tally } from '../../state/tally.js'
import { type CallKeys, slotFor } from './call-keys.js'

/** What a call adds to each of its contract's aggregates. */
export interface Amounts {
  readonly added: readonly Added[]
  readonly unusable: readonly { readonly aggregate: PreparedAggregate; readonly found: JsonValue | undefined }[]
}

export interface Added {
  readonly aggregate: PreparedAggregate
  /** Where its total stands. */
  readonly slot: string
  readonly amount: string
}

export const NO_AMOUNTS: Amounts = { added: [], unusable: [] }

export function amountsOf(contract: PreparedContract, args: JsonObject, keys: CallKeys): Amounts {
  const { aggregates } = contract
  if (aggregates.length === 0) return NO_AMOUNTS
  const added: Added[] = []
  const unusable: { aggregate: PreparedAggregate; found: JsonValue | undefined }[] = []
  for (const aggregate of aggregates) {
    const values = aggregate.path === null ? null : aggregate.path.find(args)
    const wrong = values === null ? null : unusableValue(aggregate, values)
    if (wrong !== null) unusable.push({ aggregate, found: wrong.found })
    else added.push({ aggregate, slot: slotOfAggregate(aggregate, keys), amount: amountOf(aggregate, values) })
  }
  return { added, unusable }
}

/** A call whose key cannot be used is blocked. One that the provider ran already counts apart from all keys. */
export const slotOfAggregate = (aggregate: PreparedAggregate, keys: CallKeys): string =>
  slotFor(keys, aggregate) ?? slotOf(aggregate.name, '')

/** The aggregate of the session including this call; for `max`, the call's own highest value. */
export function totalWith({ aggregate, slot, amount }: Added, state: SessionState, tally: Tally): string {
  if (aggregate.function === 'max') return amount
  const before = tally.aggregates.get(slot) ?? lookUp(state.aggregates, slot) ?? '0'
  return addDecimals(before, amount)
}

/** A negative amount would refill a budget, and only numbers can be summed. */
function unusableValue(
  aggregate: PreparedAggregate,
  values: readonly JsonValue[],
): { readonly found: JsonValue | undefined } | null {
  if (values.length === 0) return { found: undefined }
  if (aggregate.function === 'count') return null
  for (const value of values) {
    if (!isAmount(value) || value < 0) return { found: value }
  }
  return null
}

function amountOf(aggregate: PreparedAggregate, values: readonly JsonValue[] | null): string {
  if (aggregate.function === 'count') return String(values === null ? 1 : values.length)
  const amounts = (values ?? []).map((value) => decimalText(value as number))
  if (aggregate.function === 'sum') return amounts.reduce(addDecimals, '0')
  return amounts.reduce((highest, amount) => (compareDecimals(amount, highest) > 0 ? amount : highest), '0')
}
