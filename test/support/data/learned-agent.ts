import {
  addCall,
  addColumns,
  backtestSession,
  type CallComparison,
  compilePlan,
  draftContracts,
  flowOf,
  newSummary,
  newTrail,
  type ObservedSession,
  type OfferedTool,
  type Plan,
  sawCall,
  sawResult,
  sawUser,
  type ToolSummary,
  takeColumns,
} from '@countersign/engine'
import type { JsonObject } from '@countersign/protocol'

/** A conversation in which every call ran. */
export interface Conversation {
  readonly user: string
  readonly calls: readonly { readonly name: string; readonly arguments: JsonObject; readonly result?: unknown }[]
}

const SALT = 'salt'

/** A conversation as a client with this key captures it. */
export function observed({ user, calls }: Conversation, id: string, key = 'key'): ObservedSession {
  const trail = newTrail(key)
  sawUser(trail, user)
  const request = trail.request ?? undefined
  const made = calls.map(({ name, arguments: given, result = 'ok' }) => {
    const flow = flowOf(trail, { id: '', tool: name, arguments: given })
    sawCall(trail, name, given)
    sawResult(trail, name, result, { arguments: given })
    return { session: id, request, tool: name, arguments: given, flow }
  })
  return { id, request, requestWords: trail.requestWords ?? undefined, calls: made, columns: takeColumns(trail) }
}

/** What is learned of conversations, observed as the SDK observes them. */
export function learnedFrom(conversations: readonly Conversation[]): ToolSummary[] {
  const byTool = new Map<string, ToolSummary>()
  const of = (tool: string): ToolSummary => {
    const summary = byTool.get(tool) ?? newSummary(tool)
    byTool.set(tool, summary)
    return summary
  }
  conversations.forEach(({ user, calls }, at) => {
    const trail = newTrail()
    sawUser(trail, user)
    for (const { name, arguments: given, result = 'ok' } of calls) {
      const flow = flowOf(trail, { id: '', tool: name, arguments: given })
      addCall(of(name), { session: `s${at}`, request: user, tool: name, arguments: given, flow }, SALT)
      sawCall(trail, name, given)
      sawResult(trail, name, result, { arguments: given })
      for (const column of takeColumns(trail)) addColumns(of(column.tool), `s${at}`, [column])
    }
  })
  return [...byTool.values()]
}

/** The plan that these conversations lead to. */
export function planFrom(
  conversations: readonly Conversation[],
  offered: readonly OfferedTool[],
  otherwise: 'block' | 'ask' = 'block',
): Plan {
  const drafts = draftContracts(learnedFrom(conversations), { salt: SALT, otherwise, offered })
  const compiled = compilePlan({
    contracts: drafts.map(({ contract }) => ({ file: `${contract.tool}.json`, value: contract })),
  })
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.errors))
  return compiled.plan
}

/** How the plan judges the last call of a conversation. */
export function lastDecision(plan: Plan, { user, calls }: Conversation): 'allow' | 'ask' | 'block' {
  const got = lastComparison(plan, { user, calls })
  return got.decision === 'block' ? 'block' : got.asked ? 'ask' : 'allow'
}

export function lastComparison(plan: Plan, { user, calls }: Conversation): CallComparison {
  const turns = calls.map(({ name, arguments: given, result = 'ok' }) => ({
    calls: [{ name, arguments: given, results: [result] }],
  }))
  const last = backtestSession({ user: [user], turns }, { plan, unmatchedPolicy: 'block' }).at(-1)
  if (last === undefined) throw new Error('no call')
  return last
}
