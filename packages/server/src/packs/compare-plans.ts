import { analyzePlan, diffPlans } from '@countersign/engine'
import type { CompiledSession, PlanDetail } from '@countersign/protocol'
import type { LearnedDraft, PlanComparison, PlansToCompare } from '../context/tasks.js'
import { firstOfEachKind } from './first-of-each-kind.js'

/** A plan beside another: what it would change, what stands in its way, what to look at. */
export function comparePlans({ pack, running, learned }: PlansToCompare): PlanComparison {
  const plan = JSON.parse(pack.compiled) as CompiledSession
  const before = running === null ? null : (JSON.parse(running) as CompiledSession)
  return {
    changes: diffPlans(before, plan).map(({ tool, effect, text }) => ({ tool_name: tool, effect, text })),
    blockers: blockersOf(plan, learned),
    advisories: [...firstOfEachKind(advisoriesOf(plan, learned)), ...pack.advisories],
    effectsBefore: new Map(
      (before?.contracts ?? []).flatMap(({ tool, side_effect }) =>
        side_effect === undefined ? [] : [[tool, side_effect]],
      ),
    ),
  }
}

/** Tools that the agent was seen to call and that the plan would stop altogether. */
function blockersOf({ contracts }: CompiledSession, learned: readonly LearnedDraft[]): PlanDetail['blockers'] {
  const covered = new Set(contracts.map(({ tool }) => tool))
  return learned
    .filter(({ tool, samples }) => samples > 0 && !covered.has(tool))
    .map(({ tool }) => ({
      tool_name: tool,
      code: 'tool_without_contract',
      message: `${tool} is in use and has no contract: every call of it would be blocked`,
    }))
}

function advisoriesOf(plan: CompiledSession, learned: readonly LearnedDraft[]): PlanDetail['advisories'] {
  const covered = new Set(plan.contracts.map(({ tool }) => tool))
  return [
    ...analyzePlan(plan).map(({ tool, code, message }) => ({ tool_name: tool, code, message })),
    ...openFlows(plan),
    ...asking(plan),
    ...learned
      .filter(({ tool, confidence }) => confidence === 'low' && covered.has(tool))
      .map(({ tool, samples }) => ({
        tool_name: tool,
        code: 'low_confidence',
        message: `${tool} was seen ${samples} times: fewer than 5 calls tell little`,
      })),
  ]
}

/** How often a learned plan asks about unusual calls, and of how many captured requests it knows that. */
function asking({ session: { surprise } }: CompiledSession): PlanDetail['advisories'] {
  if (surprise === undefined) return []
  const { alpha, scores, requests = scores.length } = surprise
  const rate = Math.max(alpha, 1 / (requests + 1))
  const message = `a person is asked about unusual calls in about ${(rate * 100).toFixed(0)} % of the requests that resemble the ${requests} captured ones; session.yaml states what was measured`
  return [{ tool_name: null, code: 'asking_rate', message }]
}

/** Each way by which free text may choose a value, on a line of its own. */
function openFlows({ contracts }: CompiledSession): PlanDetail['advisories'] {
  const columns = new Map(contracts.map((contract) => [contract.tool, contract.columns ?? []]))
  // A whole field is free text that its author chose, if sentences stood in it too.
  const holdsProse = (result: string, path: string) =>
    columns
      .get(result)
      ?.some((column) => (column.path === path || column.path === '$') && column.holds.includes('prose'))
  return contracts.flatMap(({ tool, sources }) =>
    (sources ?? []).flatMap(({ path, from }) =>
      from.flatMap((origin) => {
        if (typeof origin !== 'object' || !('result' in origin)) return []
        const { result, path: place, as = 'cell' } = origin
        if (as === 'cell' && !holdsProse(result, place)) return []
        const message = `${tool}: ${path} may be taken from ${as} ${place} of the results of ${result}, which the author of that text can choose`
        return [{ tool_name: tool, code: 'open_flow', message }]
      }),
    ),
  )
}
