import type { JsonValue, Precondition } from '@countersign/protocol'
import { requirementOf } from '../contract/check-invariant.js'
import type { PreparedPrecondition, Provision } from '../contract/plan.js'
import { hashValue } from '../json/hash.js'
import type { CompiledPath } from '../json/json-path.js'
import { prepareInvariants, preparePath } from './prepare-invariant.js'
import { prepareWhen } from './prepare-when.js'
import type { Report } from './report/problem.js'

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
  const when = prepareWhen(precondition.when, { at: [...at, 'when'], report })
  const conditional = { when, message: precondition.message }
  if ('requires_step_count' in precondition) {
    const { gte } = precondition.requires_step_count
    return { demand: { ...conditional, kind: 'steps', atLeast: gte }, provision: null }
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
  const latest = precondition.latest === true
  if (consumed && latest) {
    report([...at, 'latest'], '`latest` looks at one call, `consumes` counts calls', 'keep one of them')
  }
  const result = withOutput.length === 0 ? '' : `, in whose result ${withOutput.map(requirementOf).join(' and ')}`
  return {
    demand: { ...conditional, kind: 'tool', key, tool, same: here, consumes: consumed, latest, result },
    provision: { tool, key, withOutput, same: there, consumed, latest },
  }
}

/** The tool's name if any call of it will do; otherwise with a digest, so that different terms have different keys. */
function preconditionKey(precondition: Extract<Precondition, { requires_prior_tool: string }>): string {
  const { requires_prior_tool: tool, with_output: withOutput, same, consumes, latest } = precondition
  const hasTerms = (withOutput ?? []).length > 0 || (same ?? []).length > 0 || consumes === true || latest === true
  if (!hasTerms) return tool
  const terms = {
    with_output: withOutput ?? [],
    same: (same ?? []).map(({ as }) => as),
    ...(consumes === true && { consumes }),
    ...(latest === true && { latest }),
  }
  const hash = hashValue(terms as unknown as JsonValue)
  return `${tool}#${hash.slice(0, 16)}`
}
