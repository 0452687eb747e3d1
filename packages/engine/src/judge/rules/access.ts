import type { Block, JsonObject } from '@countersign/protocol'
import { RESTRICTED } from '@countersign/protocol'
import type { PolicyResult, PreparedPolicy } from '../../contract/cedar.js'
import { lookUp } from '../../json/look-up.js'
import type { SessionState } from '../../state/state.js'
import type { Tally } from '../../state/tally.js'
import { advised, block, quoted, type Rule, type ToolContext, type ToolRule } from './rule.js'

export const killed: ToolRule = ({ state, contract }) =>
  state.status === 'KILLED'
    ? block('killed', contract, { remedy: 'The session was stopped. Make no more tool calls.' })
    : null

export const unmatchedTool: ToolRule = ({ tool, contract, unmatchedPolicy }) => {
  if (contract !== null || unmatchedPolicy === 'allow') return null
  return block('unmatched_tool_blocked', null, {
    remedy: `No contract covers the tool ${quoted(tool)}. Use one of the tools that were offered.`,
  })
}

export const policyDenied: Rule = (context) => {
  if (context.call.arguments === null) return null
  const result = askPolicies(context, context.call.arguments)
  if (result === 'allow') return null
  return block('policy_denied', context.contract, result === 'error' ? FAILED_FINDING : RESTRICTED_FINDING)
}

/** Before the arguments are known only a clear deny counts: a policy that reads them has not decided yet. */
export const policyDeniesTool: ToolRule = (context) => {
  return askPolicies(context, null) === 'deny' ? block('policy_denied', context.contract, RESTRICTED_FINDING) : null
}

/** The model must not learn the policy, so no detail is given. */
const RESTRICTED_FINDING = {
  remedy: `This tool is ${RESTRICTED} here. Go on without it and do not call it again.`,
}

/** For the owner of the policy, who must mend it. The model is told the same as for a deny. */
const FAILED_FINDING = { ...RESTRICTED_FINDING, detail: 'policy_error' }

/** The session's policy and the tool's policy are separate, and both must allow. */
function askPolicies(context: ToolContext, args: JsonObject | null): PolicyResult['decision'] {
  const { plan, contract } = context
  if (!plan.usesPolicy) return 'allow'
  const results = [
    plan.session.policy === undefined ? 'allow' : askPolicy(plan.policy, context, args),
    contract?.definition.policy === undefined ? 'allow' : askPolicy(contract.policy, context, args),
  ] as const
  return results.find((result) => result === 'deny') ?? results.find((result) => result === 'error') ?? 'allow'
}

function askPolicy(
  policy: PreparedPolicy | null,
  { tool, agent, principal, nowMs }: ToolContext,
  args: JsonObject | null,
): PolicyResult['decision'] {
  // Without an evaluator or a principal nothing can be allowed.
  if (policy === null || principal === undefined) return 'deny'
  return policy.decide({ principal, tool, agent: agent ?? '', arguments: args, atMs: nowMs }).decision
}

export const forbiddenByCall: ToolRule = ({ tool, plan, state, tally, contract }) => {
  const forbidding = firstUsed(plan.forbiddenBy.get(tool) ?? NO_TOOLS, state, tally)
  if (forbidding === undefined) return null
  return block('forbidden_tool', contract, {
    detail: 'forbids_after',
    remedy: `${quoted(tool)} may not be called after "${forbidding}". Go on without it.`,
  })
}

const NO_TOOLS: ReadonlySet<string> = new Set()

/** One of the tools that was called. Thousands may forbid a tool, of which a session uses a few hundred at most. */
function firstUsed(tools: ReadonlySet<string>, { used }: SessionState, tally: Tally): string | undefined {
  const isUsed = (tool: string) => (lookUp(used, tool) ?? 0) > 0 || tally.used.has(tool)
  if (tools.size <= FEW_TOOLS) return [...tools].find(isUsed)
  return [...Object.keys(used), ...tally.used.keys()].find((tool) => tools.has(tool) && isUsed(tool))
}

const FEW_TOOLS = 64

/** The hours of the tool and those of the session must both allow the call. */
export const outsideHours: ToolRule = ({ tool, contract, nowMs, isTimed, hours }) => {
  if (!isTimed || (hours.length === 0 && (contract === null || contract.hours.length === 0))) return null
  const closed = [...hours, ...(contract?.hours ?? [])].find((one) => !one.contains(nowMs))
  if (closed === undefined) return null
  return block('forbidden_tool', contract, {
    detail: 'hours',
    ...advised(
      `${quoted(tool)} may be called ${closed.text}; it is ${closed.clock(nowMs)} there.`,
      'Go on without it until then.',
      [closed],
    ),
  })
}

export const labelGate: ToolRule = ({ tool, contract, state, tally }) => {
  if (state.labels.length === 0 && tally.labels.size === 0) return null
  if (contract === null || contract.denials.length === 0) return null
  const has = new Set([...state.labels, ...tally.labels])
  const denials = contract.denials.filter(({ label }) => has.has(label))
  const [first] = denials
  if (first === undefined) return null
  const label = [...has].find((name) => denials.some((denial) => denial.label === name))
  const denying = denials.filter((denial) => denial.label === label)
  return block('forbidden_tool', contract, {
    detail: 'label_gate',
    ...advised(`${quoted(tool)} may not be used in a session labelled "${label}".`, 'Go on without it.', denying),
  })
}

export const manualFilter: ToolRule = ({ tool, contract, state }) => {
  if (state.toolFilter === null || state.toolFilter.includes(tool)) return null
  return block('forbidden_tool', contract, {
    detail: 'manual_filter',
    remedy: `The session's tool filter excludes ${quoted(tool)}. Use one of the tools that were offered.`,
  })
}

export const outsideHandoff: ToolRule = ({ tool, contract, state }) => {
  if (state.offeredTools === null || state.offeredTools.includes(tool)) return null
  return block('forbidden_tool', contract, {
    detail: 'handoff',
    remedy:
      state.offeredTools.length === 0
        ? 'The handoff to this session has ended. Make no more tool calls.'
        : `The session's role in its workflow does not include ${quoted(tool)}. Use one of the tools that were offered.`,
  })
}

/** The model called a tool that the request did not offer and that no other rule blocks. */
export function notOffered(tool: string): Block {
  return block('forbidden_tool', null, {
    detail: 'not_offered',
    remedy: `${quoted(tool)} was not among the tools of the request. Use one of the tools that were offered.`,
  })
}
