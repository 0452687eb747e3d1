import { LIMITS } from '@countersign/protocol'
import { argumentName } from '../contract/source-rule.js'
import { upperBound } from './bound.js'
import type { FlowSummary } from './flow-summary.js'
import type { RequestGroups } from './request-groups.js'
import { poolByName, type ToolSummary } from './summary.js'

/** An argument that always equalled the latest value at one place in one tool's results. */
export interface LearnedRef {
  readonly tool: string
  readonly path: string
  /** Name of the binding. */
  readonly name: string
  readonly boundBy: string
  readonly resultPath: string
  /** Requests in which it held. */
  readonly seen: number
  /** Upper 95 % limit of the share of future requests that the ref would block wrongly. */
  readonly falseBlockBound: number
}

type Origin = Pick<LearnedRef, 'boundBy' | 'resultPath' | 'seen' | 'falseBlockBound'>

/**
 * A ref applies to every argument of a name or to none: a token is a token to each tool that takes one, and the other
 * tools confirm what one tool shows too rarely.
 */
export function draftRefs(summaries: readonly ToolSummary[], requests: RequestGroups): LearnedRef[] {
  const origins = new Map<string, Origin>()
  for (const [name, flow] of poolByName(summaries)) {
    const origin = onlyOrigin(flow, requests)
    if (origin !== null) origins.set(name, origin)
  }
  const refs: LearnedRef[] = []
  for (const { tool, flows } of summaries) {
    for (const [path] of flows.entries) {
      const origin = origins.get(argumentName(path))
      if (origin === undefined || path.includes('*') || origin.boundBy === tool) continue
      refs.push({ tool, path, name: bindingName(origin.boundBy, origin.resultPath), ...origin })
    }
  }
  return refs.sort((a, b) => (a.tool + a.path < b.tool + b.path ? -1 : 1))
}

/** Null unless every value in several requests equalled the same result. */
function onlyOrigin(flow: FlowSummary, requests: RequestGroups): Origin | null {
  const seen = requests.count(flow.requests)
  if (seen < LIMITS.mediumConfidenceSamples) return null
  const always = flow.equals.entries.filter(([, { count }]) => count === flow.values)
  const keys = always.map(([key]) => key).sort()
  if (keys[0] === undefined) return null
  const [boundBy, resultPath] = JSON.parse(keys[0]) as [string, string]
  return { boundBy, resultPath, seen, falseBlockBound: upperBound(0, seen) }
}

const bindingName = (tool: string, path: string): string =>
  `${tool}.${argumentName(path)}`
    .replaceAll(/[^A-Za-z0-9_.-]/g, '_')
    .replace(/^[^A-Za-z_]/, '_')
    .slice(0, 128)
