import { type ContractFailure, type JsonObject, LIMITS } from '@countersign/protocol'
import type { PreparedContract, Provision } from '../../contract/plan.js'
import { lookUp } from '../../json/look-up.js'
import { keyCount, openingsOf } from '../../state/kept-values.js'
import type { SessionState } from '../../state/state.js'
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
  return block('argument_value_mismatch', contract, {
    detail: 'key',
    remedy: `Give ${paths} as text of at most ${LIMITS.keyLength} characters or as a number.`,
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
    if (provision.consumed && opensTooMany(provision, call.arguments, state, salt)) return tooMany(contract.tool)
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

/** How many keys a session keeps of all names together. */
function allKeys({ keyCounts }: SessionState): number {
  if (keyCounts === undefined) return 0
  const known = ALL_KEYS.get(keyCounts)
  if (known !== undefined) return known
  let all = 0
  for (const name in keyCounts) all += lookUp(keyCounts, name) ?? 0
  ALL_KEYS.set(keyCounts, all)
  return all
}

/** The counts of a state never change. */
const ALL_KEYS = new WeakMap<object, number>()

function opensTooMany({ key, same }: Provision, args: JsonObject, state: SessionState, salt: string): boolean {
  if (same.length === 0) return false
  const open = openingsOf(state, key)
  if (Object.keys(open).length < LIMITS.keysPerName) return false
  const witness = witnessOf(same, args, salt)
  return witness !== null && !Object.hasOwn(open, witness)
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
