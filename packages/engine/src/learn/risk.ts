import type { SourceRule, ValueKind } from '@countersign/protocol'
import { isUnjudged } from '../contract/source-rule.js'
import { isWorded } from '../json/value-kind.js'
import { describePlace, type SourceLearning, SUPPORT, vouches } from './draft-sources.js'
import { type Place, readOriginKey, type Witnesses } from './flow-summary.js'
import { mergeSketches, type Sample, type Sketch } from './sketch.js'
import type { ToolSummary } from './summary.js'

export interface Risk {
  /** Sessions examined: all, or an even sample. */
  readonly sessions: number
  /** Those that the rules would have blocked had they been learned without that session. */
  readonly atRisk: number
  /** What was seen but the learned rules do not allow. */
  readonly wouldBlock: readonly string[]
}

/** Leaves each session out in turn. Ignores known values, so that the estimate errs on the safe side. */
export function sessionsAtRisk(summary: ToolSummary, sources: readonly SourceRule[], learning: SourceLearning): Risk {
  let exposed: Sketch = []
  const wouldBlock: string[] = []
  const flows = new Map(summary.flows.entries)
  for (const rule of sources) {
    const flow = flows.get(rule.path)
    if (flow === undefined || rule.role === 'choice') continue
    const origins: Sample<Witnesses> = rule.role === 'content' ? flow.tokenOrigins : flow.origins
    for (const [key, { sessions }] of origins.entries) {
      const { kind, places } = readOriginKey(key)
      if (isUnjudged(kind, rule) || (rule.role === undefined && isWorded(kind))) continue
      if (places.some((place) => vouches(place, kind, learning))) continue
      const allowed = isListed(rule, kind, places)
      if (!allowed)
        wouldBlock.push(`${rule.path}: ${places[0] === undefined ? `made up (${kind})` : describePlace(places[0])}`)
      if (!allowed || sessions.length <= SUPPORT.sessions) exposed = mergeSketches(exposed, sessions)
    }
  }
  const sample = new Set(summary.sessions)
  return {
    sessions: sample.size,
    atRisk: exposed.filter((session) => sample.has(session)).length,
    wouldBlock: [...new Set(wouldBlock)].sort(),
  }
}

function isListed({ from }: SourceRule, kind: ValueKind, places: readonly Place[]): boolean {
  return from.some((origin) => {
    if (typeof origin === 'string') return origin === 'generated' && places.length === 0
    if ('generated' in origin) return places.length === 0 && origin.generated.includes(kind)
    return places.some(
      ([seen, tool, path]) => tool === origin.result && path === origin.path && seen === (origin.as ?? 'cell'),
    )
  })
}
