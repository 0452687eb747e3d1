import { type ContractFailure, type JsonObject, LIMITS } from '@countersign/protocol'
import type { PreparedContract, Provision } from '../../contract/plan.js'
import { keyCount, openingsOf } from '../../state/kept-values.js'
import type { SessionState } from '../../state/state.js'
import { holdsUnseen } from '../../text/folded-text.js'
import type { CallKeys } from './call-keys.js'
import { witnessOf } from './order.js'
import { argumentPath, block, type CallContext, type Finding, type Rule } from './rule.js'

/** A rule that is kept for each value of an argument needs that value. */
export const keyUnusable: Rule = ({ call, contract, keys, draws }) => {
  if (keys.unusable.length === 0 && draws.unusableKeys.length === 0) return null
  const ofLimits = draws.unusableKeys.flatMap(({ limit: { key }, found }) =>
    key === null ? [] : [{ path: key, found }],
  )
  const unusable = [...keys.unusable, ...ofLimits]
  const failures = unusable.map(
    ({ path, found }): ContractFailure => ({
      path: argumentPath(call.index, path.expression),
      operator: 'key',
      expected: `text of 1 to ${LIMITS.keyLength} characters, or a number`,
      ...(found === undefined ? {} : { found }),
      message: `rules of this tool are kept for each value here, but it ${found === undefined ? 'is missing' : 'cannot be used'}`,
    }),
  )
  const paths = unusable.map(({ path }) => path.expression).join(', ')
  const isHidden = unusable.some(({ found }) => typeof found === 'string' && holdsUnseen(found))
  return block('argument_value_mismatch', contract, {
    detail: 'key',
    remedy: `Give ${paths} as text of at most ${LIMITS.keyLength} characters${isHidden ? ', none of them invisible,' : ''} or as a number.`,
    rules: [],
    failures,
  })
}

/** A session keeps so many keys of a name, and forgets none. */
export function tooManyKeys({ contract, keys, state, tally, call, salt }: CallContext): Finding | null {
  if (contract === null || call.arguments === null) return null
  for (const { kind, name, countedAs, slot: place } of contract.keeps) {
    const slot = keys.slots[place]
    if (slot == null || Object.hasOwn(state[kind], slot)) continue
    const added = tally.newKeys.get(countedAs)
    const count = keyCount(state, countedAs) + (added === undefined ? 0 : added.size)
    if (added?.has(slot) === true) continue
    if (count >= LIMITS.keysPerName) return tooMany(name)
    if (allKeys(state) >= LIMITS.keysPerSession) return TOO_MANY_IN_ALL
  }
  for (const provision of contract.provides) {
    const full = noRoomFor(provision, contract.tool, state)
    if (full !== null && opensAnother(provision, call.arguments, state, salt)) return full
  }
  return null
}

const tooMany = (name: string): Finding => ({
  detail: 'keys',
  remedy: `The session already keeps "${name}" for ${LIMITS.keysPerName} different values. Go on with those, or start a new session.`,
})

const TOO_MANY_IN_ALL: Finding = {
  detail: 'keys',
  remedy: `The session already keeps ${LIMITS.keysPerSession} values for what its calls named. Go on with those, or start a new session.`,
}

/** How many keys a session keeps of all names together, with what opens later calls. */
export const allKeys = ({ keyCounts = NONE, openings = NONE }: SessionState): number =>
  sumOf(keyCounts, (count) => count) + sumOf(openings, sizeOf)

const NONE = Object.freeze({})

const sizeOf = (record: Readonly<Record<string, number>>): number => sumOf(record, () => 1)

/** The parts of a state never change, so each is added up once. */
function sumOf<Value>(record: Readonly<Record<string, Value>>, amountOf: (value: Value) => number): number {
  const known = SUMS.get(record)
  if (known !== undefined) return known
  let sum = 0
  for (const value of Object.values(record)) sum += amountOf(value)
  SUMS.set(record, sum)
  return sum
}

const SUMS = new WeakMap<object, number>()

/** Why no other value can open a later call; null if one can. */
function noRoomFor({ key, same, consumed }: Provision, tool: string, state: SessionState): Finding | null {
  if (!consumed || same.length === 0) return null
  if (sizeOf(openingsOf(state, key)) >= LIMITS.keysPerName) return tooMany(tool)
  return allKeys(state) >= LIMITS.keysPerSession ? TOO_MANY_IN_ALL : null
}

function opensAnother({ key, same }: Provision, args: JsonObject, state: SessionState, salt: string): boolean {
  const witness = witnessOf(same, args, salt)
  return witness !== null && !Object.hasOwn(openingsOf(state, key), witness)
}

export const NO_NEW_KEYS: ReadonlyMap<string, string> = new Map()

/** The slots that a call would add to what the session keeps per key, by how they are counted. */
export function newKeys(
  keeps: PreparedContract['keeps'],
  keys: CallKeys,
  state: SessionState,
): ReadonlyMap<string, string> {
  if (keeps.length === 0) return NO_NEW_KEYS
  const added = new Map<string, string>()
  for (const { kind, countedAs, slot: place } of keeps) {
    const slot = keys.slots[place]
    if (slot != null && !Object.hasOwn(state[kind], slot)) added.set(countedAs, slot)
  }
  return added
}
