import type { JsonObject, JsonValue } from '@countersign/protocol'
import type { Plan } from '../../contract/plan.js'
import type { PreparedSharedLimit, UsedBucket } from '../../contract/shared-limit.js'
import type { Scene } from '../../contract/when/condition.js'
import { addDecimals, decimalText, isAmount } from '../../json/decimal.js'
import { sha256Hex } from '../../json/hash.js'
import { isProven } from '../../state/principal.js'
import type { Tally } from '../../state/tally.js'
import { foldedText } from '../../text/folded-text.js'
import { argumentKey, keyText } from './call-keys.js'
import { unlessFailing } from './scene.js'

/** Whose session it is, as far as limits that sessions share ask. */
export interface LimitParty {
  /** Undefined or null: not known. */
  readonly principal: JsonValue | undefined
  readonly agent: string | null
  readonly workflowId: string | null
}

/** What is known about the counts of all sessions. */
export interface SharedCounts {
  /** The same for all sessions that share limits. */
  readonly salt: string
  readonly party: LimitParty
  /** What was taken under an id. Null: it cannot be known here, so nothing may be taken. */
  used(id: string): readonly UsedBucket[] | null
}

/** For whom a limit is counted: a text, or a principal that a token proves. */
export type LimitKey = string | readonly ['proven', issuer: string, id: string]

/** What something takes of a limit. */
export interface Draw {
  readonly limit: PreparedSharedLimit
  /** Of the limit and the key that it is counted for; no content can be read from it. */
  readonly id: string
  readonly amount: string
}

/** What a call takes of the limits that count it. */
export interface CallDraws {
  readonly draws: readonly Draw[]
  /** Limits that are kept for a principal whom the session does not name. */
  readonly nameless: readonly PreparedSharedLimit[]
  readonly unusableKeys: readonly { readonly limit: PreparedSharedLimit; readonly found: JsonValue | undefined }[]
  readonly unusableAmounts: readonly { readonly limit: PreparedSharedLimit; readonly found: JsonValue | undefined }[]
}

export const NO_DRAWS: CallDraws = { draws: [], nameless: [], unusableKeys: [], unusableAmounts: [] }

/** What a call takes. `args` is null if they could not be read; the call is blocked then. Without a scene all limits count. */
export function drawsOf(
  { shared }: Pick<Plan, 'shared'>,
  counts: Pick<SharedCounts, 'salt' | 'party'>,
  tool: string,
  { args, scene }: { readonly args: JsonObject | null; readonly scene: Scene | null },
): CallDraws {
  const all = shared === null ? [] : shared.of(tool)
  const limits = scene === null ? all : unlessFailing(scene)(all)
  if (limits.length === 0 || args === null) return NO_DRAWS
  const found = {
    draws: [] as Draw[],
    nameless: [] as PreparedSharedLimit[],
    unusableKeys: [] as Unusable[],
    unusableAmounts: [] as Unusable[],
  }
  const keyOf = foldedKeys()
  for (const limit of limits) {
    const value = limit.key === null ? undefined : limit.key.first(args)
    const key = limit.key === null ? partyKey(limit, counts.party) : keyOf(value)
    const amount = amountOf(limit, args)
    if (typeof amount === 'object') found.unusableAmounts.push({ limit, found: amount.found })
    if (key === null && limit.key !== null) found.unusableKeys.push({ limit, found: value })
    else if (key === null) found.nameless.push(limit)
    else if (typeof amount === 'string') found.draws.push({ limit, id: idOf(limit, key, counts.salt), amount })
  }
  return found
}

type Unusable = CallDraws['unusableKeys'][number]

/** What the cost of a response takes. */
export function costDraws({ shared }: Plan, counts: SharedCounts | null, cost: string): Draw[] {
  if (shared === null || counts === null || cost === '0') return []
  return knownDraws(shared.cost, counts).map((draw) => ({ ...draw, amount: cost }))
}

/** The limits whose key does not depend on a call, as nothing taken of each. */
export function knownDraws(
  limits: readonly PreparedSharedLimit[],
  { party, salt }: Pick<SharedCounts, 'salt' | 'party'>,
): Draw[] {
  return limits.flatMap((limit) => {
    const key = partyKey(limit, party)
    return key === null ? [] : [{ limit, id: idOf(limit, key, salt), amount: '0' }]
  })
}

/**
 * A limit is the same for all plans of a tenant that give it the same name, key and window and count the same: a new
 * plan, or another bound, gives nothing back.
 */
function idOf({ name, counts, per, definition }: PreparedSharedLimit, key: LimitKey, salt: string): string {
  return hashOf(name, counts, definition.window, per, key, salt)
}

const hashOf = (name: string, counts: string, window: string, per: string, key: LimitKey, salt: string): string =>
  sha256Hex(`${salt.length}:${salt}:${JSON.stringify([name, counts, window, per, key])}`)

/** A limit as far as its id depends on it. */
export interface NamedLimit extends Pick<PreparedSharedLimit, 'name' | 'counts' | 'per'> {
  readonly window: string
}

/** The id under which a limit is counted for a key that a person names. Null: it cannot be a key. */
export function limitIdFor({ name, counts, window, per }: NamedLimit, key: LimitKey, salt: string): string | null {
  if (typeof key !== 'string') return per === 'principal' ? hashOf(name, counts, window, per, key, salt) : null
  const text = per === 'argument' ? foldedKey(key) : per === 'tenant' ? '' : keyText(key)
  return text === null ? null : hashOf(name, counts, window, per, text, salt)
}

/** Null: the session does not say, or the key stands in the arguments. */
function partyKey({ per }: PreparedSharedLimit, { principal, agent, workflowId }: LimitParty): LimitKey | null {
  switch (per) {
    case 'tenant':
      return ''
    case 'agent':
      return agent ?? ''
    case 'workflow':
      return workflowId
    case 'principal':
      return principalKey(principal)
    case 'argument':
      return null
  }
}

/** The principal's id, as policies know it, with its issuer where a token proves it. Null: it has none. */
export function principalKey(principal: JsonValue | undefined): LimitKey | null {
  const isRecord = typeof principal === 'object' && principal !== null && !Array.isArray(principal)
  const id = keyText(isRecord ? principal.id : typeof principal === 'string' ? principal : undefined)
  if (id === null || !isRecord || !isProven(principal)) return id
  return provenKey(String(principal.issuer), id)
}

/** A list is never equal to a text: a told principal shares nothing with a proven one. */
export const provenKey = (issuer: string, id: string): LimitKey => ['proven', issuer, id]

/**
 * The model chooses how it writes a key. Spellings that differ in case, in blanks around them or in their Unicode form
 * count together: that can only block more.
 */
function foldedKey(value: JsonValue | undefined): string | null {
  const text = argumentKey(value)
  if (text === null) return null
  const folded = foldedText(text)
  return folded === '' ? null : folded
}

/** Folds a key once: many limits may be kept for the same argument, which may be long. */
function foldedKeys(): (value: JsonValue | undefined) => string | null {
  const known = new Map<string, string | null>()
  return (value) => {
    const text = argumentKey(value)
    if (text === null) return null
    const key = known.get(text) ?? foldedKey(text)
    known.set(text, key)
    return key
  }
}

/** A negative amount would refill a limit, and only numbers can be summed. */
function amountOf(
  { counts, path }: PreparedSharedLimit,
  args: JsonObject,
): string | { readonly found: JsonValue | undefined } {
  if (counts !== 'sum' || path === null) return '1'
  const values = path.find(args)
  if (values.length === 0) return { found: undefined }
  let sum = '0'
  for (const value of values) {
    if (!isAmount(value) || value < 0) return { found: value }
    sum = addDecimals(sum, decimalText(value))
  }
  return sum
}

/** The tally with what an allowed call takes. */
export function sharedWith(tally: Tally['shared'], draws: readonly Draw[]): Tally['shared'] {
  if (draws.length === 0) return tally
  const next = new Map(tally)
  for (const { id, amount } of draws) next.set(id, addDecimals(next.get(id) ?? '0', amount))
  return next
}
