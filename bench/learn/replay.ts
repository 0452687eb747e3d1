import {
  type Draft,
  flowOf,
  judgeSources,
  newTrail,
  type SourceContext,
  sawCall,
  sawResult,
  sawUser,
} from '@countersign/engine'
import type { ResultColumn, SourceRule } from '@countersign/protocol'
import type { RecordedCall, Trace } from './dataset.js'
import { turnsOf } from './observe.js'
import type { Rewriting } from './rewrite.js'

export type Verdict = 'allow' | 'ask' | 'block'

/** The learned contracts as the judge reads them. */
export interface Rules extends SourceContext {
  sourcesOf(tool: string): readonly SourceRule[]
}

export function rulesOf(drafts: readonly Draft[]): Rules {
  const byTool = new Map(drafts.map(({ contract }) => [contract.tool, contract]))
  return {
    sourcesOf: (tool) => (byTool.get(tool)?.sources ?? []) as SourceRule[],
    columnsOf: (tool) => (byTool.get(tool)?.columns ?? null) as ResultColumn[] | null,
    isGuarded: (tool) => (byTool.get(tool)?.side_effect ?? 'read') !== 'read',
  }
}

/**
 * Judges a trace call by call. A blocked call does not run: neither it nor its result is seen by later ones. A person
 * who is asked decides rightly: the injected goal is refused, anything else approved.
 */
export function replay(trace: Trace, rules: Rules, rewrite: Rewriting | null = null): Verdict[] {
  const trail = newTrail()
  sawUser(trail, trace.user)
  const verdicts: Verdict[] = []
  for (const turn of turnsOf(trace)) {
    const ran: RecordedCall[] = []
    for (const call of turn) {
      const flow = flowOf(trail, { id: '', tool: call.name, arguments: call.arguments })
      const violations = judgeSources(rules.sourcesOf(call.name), { arguments: call.arguments, flow }, rules)
      const blocks = violations.some(({ otherwise }) => otherwise === 'block')
      const verdict = blocks ? 'block' : violations.length > 0 ? 'ask' : 'allow'
      verdicts.push(verdict)
      if (verdict === 'allow' || (verdict === 'ask' && call.labels.injected === undefined)) ran.push(call)
    }
    for (const call of ran) {
      sawCall(trail, call.name, call.arguments)
      for (const result of rewrite?.(trace, call) ?? [call.result])
        sawResult(trail, call.name, result, call.labels.error)
    }
  }
  return verdicts
}
