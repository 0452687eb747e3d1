import type { Decision, Flows, JsonObject, JsonValue } from '@countersign/protocol'
import type { Plan } from '../contract/plan.js'
import { editsOf } from '../judge/asking.js'
import { editProblem } from '../judge/edit-problem.js'
import { alignedFlow } from '../judge/flow-for.js'

interface Asked<Call> {
  readonly plan: Plan
  readonly calls: readonly Call[]
  readonly flows: Flows
  readonly decisions: readonly Decision[]
  /** What the person who is asked makes of the arguments; undefined: nothing. */
  edit(call: number): JsonObject | undefined
}

/** The calls as the people who were asked about them have changed them. Null: they changed none. */
export function editedCalls<Call extends { readonly id: string; readonly arguments: JsonValue }>(asked: Asked<Call>) {
  const { plan, calls, flows, decisions, edit } = asked
  const problems: (string | null)[] = calls.map(() => null)
  const edits = new Map<string, JsonObject>()
  for (const [at, decision] of decisions.entries()) {
    const [call, edited] = [calls[at], decision.checkpoint_required ? edit(at) : undefined]
    if (call === undefined || edited === undefined) continue
    const allowed = editsOf(plan.contracts.get(decision.tool_name), decision.checkpoints)
    problems[at] = editProblem({ arguments: call.arguments as JsonObject, edit: [...allowed] }, edited)
    edits.set(call.id, edited)
  }
  if (edits.size === 0) return null
  return {
    problems,
    calls: calls.map((call) => ({ ...call, arguments: edits.get(call.id) ?? call.arguments })),
    flows: {
      ...flows,
      calls: flows.calls.map((flow) => {
        const edited = edits.get(flow.call_id)
        return edited === undefined ? flow : alignedFlow(flow, edited)
      }),
    },
  }
}
