import type { JsonObject, JsonValue, Opening } from '@countersign/protocol'
import type { PreparedContract, PreparedPrecondition } from '../../contract/plan.js'
import { renderResource } from '../../contract/resource.js'
import { saltedHash } from '../../json/hash.js'
import type { CompiledPath } from '../../json/json-path.js'
import { lookUp } from '../../json/look-up.js'
import { openingsLeft, openingsOf } from '../../state/kept-values.js'
import { openingName } from '../../state/tally.js'
import { advised, block, type Finding, quoted, type Rule, type ToolContext, type ToolRule } from './rule.js'

/** A precondition that no arguments can meet yet. */
export const preconditionMissing: ToolRule = (context) => {
  for (const precondition of context.contract?.preconditions ?? []) {
    const missing = missingFor(precondition, context)
    if (missing !== null) return block('precondition_not_met', context.contract, missing)
  }
  return null
}

export const preconditionNotMet: Rule = (context) => {
  const { call, contract, state, salt, tool } = context
  const missing = preconditionMissing(context)
  if (missing !== null || contract === null || call.arguments === null) return missing
  for (const precondition of contract.preconditions) {
    if (precondition.kind !== 'tool') continue
    const { latest, consumes, same } = precondition
    if (same.length === 0 && !consumes && !latest) continue
    const witness = witnessOf(precondition.same, call.arguments, salt)
    const paths = precondition.same.map(({ expression }) => expression).join(', ')
    if (precondition.consumes) {
      if (isOpen({ key: precondition.key, witness }, context)) continue
      const forSame = paths === '' ? '' : ` for the same ${paths}`
      return block('precondition_not_met', contract, {
        detail: `${precondition.tool}: used up`,
        ...advised(ofItsOwn(tool, precondition), `Call "${precondition.tool}" first${forSame}.`, [precondition]),
      })
    }
    if (latest && isRunning({ key: precondition.key, witness }, context)) {
      return block('precondition_not_met', contract, {
        detail: `${precondition.tool}: running`,
        ...advised(
          `An earlier call of this response runs "${precondition.tool}" again, and its newest result counts.`,
          `Wait for the result, then call ${quoted(tool)}.`,
          [precondition],
        ),
      })
    }
    if (same.length === 0) continue
    const known = lookUp(state.satisfied, precondition.key)
    if (witness !== null && Array.isArray(known) && known.includes(witness)) continue
    return block('precondition_not_met', contract, {
      detail: `${precondition.tool}: another ${paths}`,
      remedy: `Call "${precondition.tool}" first for the same ${paths} as in this call of ${quoted(tool)}.`,
      fact: `${quoted(tool)} needs a call of "${precondition.tool}" first for the same ${paths}.`,
      rules: [precondition],
    })
  }
  return null
}

/** An earlier call of the same response may undo what was proved: for these values, or for any. */
function isRunning({ key, witness }: Opening, { tally }: ToolContext): boolean {
  return tally.reruns.has(openingName({ key, witness })) || tally.reruns.has(openingName({ key, witness: null }))
}

/** What a run of a tool proves anew or undoes, once it is allowed. */
export const rerunsOf = (
  provides: PreparedContract['provides'],
  witnesses: Readonly<Record<string, string>>,
): Opening[] =>
  provides.flatMap(({ key, latest }) => (latest ? [{ key, witness: lookUp(witnesses, key) ?? null }] : []))

/** A witness is null if the precondition compares no values, or if the call does not give one of them. */
function isOpen(opening: Opening, { state, tally }: ToolContext): boolean {
  return openingsLeft(state, opening) > (tally.consumed.get(openingName(opening)) ?? 0)
}

/** What a call uses up once it is allowed. */
export function consumedBy({ preconditions }: PreparedContract, args: JsonObject, salt: string): readonly Opening[] {
  let consumed: Opening[] | undefined
  for (const precondition of preconditions) {
    if (precondition.kind !== 'tool' || !precondition.consumes) continue
    consumed ??= []
    consumed.push({ key: precondition.key, witness: witnessOf(precondition.same, args, salt) })
  }
  return consumed ?? NOTHING
}

const NOTHING: readonly Opening[] = []

/** The values that two calls must share, as one hash; null if one of them is absent, or if there are none. */
export function witnessOf(paths: readonly CompiledPath[], args: JsonObject, salt: string): string | null {
  if (paths.length === 0) return null
  const values: JsonValue[] = []
  for (const path of paths) {
    const value = path.first(args)
    if (value === undefined) return null
    values.push(value)
  }
  return saltedHash(salt, values)
}

type NeedsTool = Extract<PreparedPrecondition, { kind: 'tool' }>

const ofItsOwn = (tool: string, precondition: NeedsTool): string =>
  `Each call of ${quoted(tool)} needs a call of "${precondition.tool}" of its own.`

function missingFor(precondition: PreparedPrecondition, { tool, state }: ToolContext): Finding | null {
  const rules = [precondition]
  if (precondition.kind === 'steps') {
    const { atLeast } = precondition
    if (state.stateVersion >= atLeast) return null
    return {
      detail: `steps ${state.stateVersion} of ${atLeast}`,
      remedy: `${quoted(tool)} needs ${atLeast} completed steps before it; there are ${state.stateVersion}.`,
      rules,
    }
  }
  if (precondition.consumes) {
    for (const _ in openingsOf(state, precondition.key)) return null
    return {
      detail: precondition.tool,
      ...advised(ofItsOwn(tool, precondition), `Call "${precondition.tool}" first and wait for its result.`, rules),
    }
  }
  if (lookUp(state.satisfied, precondition.key) !== undefined) return null
  const hadCalls = (lookUp(state.committed, precondition.tool) ?? 0) > 0
  const fact = `${quoted(tool)} needs a call of "${precondition.tool}" first${precondition.result}.`
  return {
    detail: precondition.tool,
    remedy: hadCalls
      ? `${quoted(tool)} needs a call of "${precondition.tool}" with another result than the ones so far${precondition.result}.`
      : `Call "${precondition.tool}" first and wait for its result, then call ${quoted(tool)}.`,
    fact,
    rules,
  }
}

/** Another session of the workflow holds the same resource. */
export const resourceHeld: Rule = ({ call, contract, heldResources, tool }) => {
  if (heldResources === null || contract === null || call.arguments === null) return null
  for (const resource of contract.resources) {
    const key = renderResource(resource, call.arguments)
    const holder = key === null ? null : heldResources(key, resource.mode)
    if (holder === null) continue
    return block('precondition_not_met', contract, {
      detail: 'resource_conflict',
      ...advised(
        `Another session (${holder}) is working on ${quoted(key ?? '')}.`,
        `Wait for it, then call ${quoted(tool)} again.`,
        [],
      ),
    })
  }
  return null
}
