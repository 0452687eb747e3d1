import type { JsonValue, Precondition } from '@countersign/protocol'
import type { PreparedPrecondition, Provision } from '../contract/plan.js'
import { hashValue } from '../json/hash.js'
import type { CompiledPath } from '../json/json-path.js'
import { prepareInvariants, preparePath } from './prepare-invariant.js'
import type { Report } from './problem.js'

/** What a precondition requires, and what the prior tool's call must prove for it. */
export interface PreconditionParts {
  readonly demand: PreparedPrecondition
  readonly provision: (Provision & { readonly tool: string }) | null
}

export function preparePrecondition(
  precondition: Precondition,
  at: readonly (string | number)[],
  report: Report,
): PreconditionParts {
  if ('requires_step_count' in precondition) {
    return { demand: { kind: 'steps', atLeast: precondition.requires_step_count.gte }, provision: null }
  }
  const here: CompiledPath[] = []
  const there: CompiledPath[] = []
  const one = { singular: 'both calls must share a single one' }
  for (const [index, { path, as }] of (precondition.same ?? []).entries()) {
    const mine = preparePath(path, [...at, 'same', index, 'path'], report, one)
    const theirs = preparePath(as, [...at, 'same', index, 'as'], report, one)
    if (mine !== null) here.push(mine)
    if (theirs !== null) there.push(theirs)
  }
  const withOutput = prepareInvariants(precondition.with_output, {
    at: [...at, 'with_output'],
    report,
    allowsRef: false,
  })
  const tool = precondition.requires_prior_tool
  const key = preconditionKey(precondition)
  const consumed = precondition.consumes === true
  return {
    demand: { kind: 'tool', key, tool, same: here, consumes: consumed },
    provision: { tool, key, withOutput, same: there, consumed },
  }
}

/** The tool's name if any call of it will do; otherwise with a digest, so that different terms have different keys. */
function preconditionKey(precondition: Extract<Precondition, { requires_prior_tool: string }>): string {
  const { requires_prior_tool: tool, with_output: withOutput, same, consumes } = precondition
  if ((withOutput ?? []).length === 0 && (same ?? []).length === 0 && consumes !== true) return tool
  const terms = {
    with_output: withOutput ?? [],
    same: (same ?? []).map(({ as }) => as),
    ...(consumes === true && { consumes }),
  }
  const hash = hashValue(terms as unknown as JsonValue)
  return `${tool}#${hash.slice(0, 16)}`
}
