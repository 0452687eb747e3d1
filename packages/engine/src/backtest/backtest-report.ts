import type { ChangedCalls, CompiledContract, RunReport, UnjudgedRule } from '@countersign/protocol'
import type { Plan } from '../contract/plan.js'
import { leavesOf } from '../json/leaves.js'
import type { CallComparison, PastSession } from './backtest.js'

/** What a backtest has found so far. Sessions are added one by one, so that a long run needs little memory. */
export interface BacktestTally {
  readonly plan: Plan
  sessions: number
  sessionsPassed: number
  calls: number
  callsBlocked: number
  readonly tools: Map<string, { calls: number; paths: Map<string, number> }>
  /** Paths listed so far, of all tools. */
  paths: number
  readonly wouldBlock: Map<string, number>
  readonly notJudged: Map<UnjudgedRule, number>
  newlyAllowed: number
  newlyBlocked: number
  /** By tool, calls that are not decided as expected. */
  readonly changed: Map<string, ChangedCounts>
  readonly divergences: RunReport['divergences']
}

export interface ChangedCounts {
  newlyAllowed: number
  asked: number
  newlyBlocked: number
}

/** Sessions beyond these still count; only their first divergence is not listed. */
const MAX_DIVERGENCES = 200
const MAX_PATHS = 200
/** Tools without a contract, and paths of all tools together: what a report lists stays small, the counts stay exact. */
const MAX_UNCOVERED_TOOLS = 256
const MAX_ALL_PATHS = 20_000
/** Tools whose changed calls are listed. */
const MAX_CHANGED_TOOLS = 256

/** An empty tally. */
export const newTally = (plan: Plan): BacktestTally => ({
  plan,
  sessions: 0,
  sessionsPassed: 0,
  calls: 0,
  callsBlocked: 0,
  tools: new Map(),
  paths: 0,
  wouldBlock: new Map(),
  notJudged: new Map(),
  newlyAllowed: 0,
  newlyBlocked: 0,
  changed: new Map(),
  divergences: [],
})

/** The expected decision on a call, by turn and position. */
export type Expected = (turn: number, call: number) => 'allow' | 'block'

/**
 * Adds a replayed session. A call diverges if its decision is not the expected one. `unjudged` names, by tool, the
 * rules that could not be applied to this session.
 */
export function addToTally(
  tally: BacktestTally,
  session: PastSession & { readonly name: string },
  comparisons: readonly CallComparison[],
  expected: Expected,
  unjudged: ReadonlyMap<string, readonly UnjudgedRule[]> = NOTHING_UNJUDGED,
): void {
  tally.sessions++
  const first = comparisons.find(({ turn, call, decision }) => decision !== expected(turn, call))
  if (first === undefined) tally.sessionsPassed++
  else if (tally.divergences.length < MAX_DIVERGENCES) {
    tally.divergences.push({
      session: session.name,
      turn: first.turn,
      call: first.call,
      tool_name: first.tool,
      expected: expected(first.turn, first.call),
      decision: first.decision,
      reasons: first.reasons.map(({ reason }) => reason),
      remedy: first.reasons[0]?.remedy ?? null,
    })
  }
  for (const comparison of comparisons) {
    countCall(tally, comparison, session)
    if (comparison.decision !== expected(comparison.turn, comparison.call)) countChange(tally, comparison)
    for (const rule of unjudged.get(comparison.tool) ?? []) {
      tally.notJudged.set(rule, (tally.notJudged.get(rule) ?? 0) + 1)
    }
  }
}

const NOTHING_UNJUDGED: ReadonlyMap<string, readonly UnjudgedRule[]> = new Map()

function countCall(
  tally: BacktestTally,
  { turn, call, tool, decision, reasons }: CallComparison,
  session: PastSession,
): void {
  tally.calls++
  if (decision === 'block') {
    tally.callsBlocked++
    const reason = reasons[0]?.reason ?? 'response_format_invalid'
    tally.wouldBlock.set(reason, (tally.wouldBlock.get(reason) ?? 0) + 1)
  }
  const hasRoom = tally.plan.contracts.has(tool) || tally.tools.size < tally.plan.contracts.size + MAX_UNCOVERED_TOOLS
  if (!tally.tools.has(tool) && !hasRoom) return
  const seen = tally.tools.get(tool) ?? { calls: 0, paths: new Map<string, number>() }
  tally.tools.set(tool, seen)
  seen.calls++
  const paths = new Set(leavesOf(session.turns[turn]?.calls[call]?.arguments).leaves.map(({ path }) => path))
  for (const path of paths) {
    const isNew = !seen.paths.has(path)
    if (isNew && (seen.paths.size >= MAX_PATHS || tally.paths >= MAX_ALL_PATHS)) continue
    if (isNew) tally.paths++
    seen.paths.set(path, (seen.paths.get(path) ?? 0) + 1)
  }
}

function countChange(tally: BacktestTally, { tool, decision, asked }: CallComparison): void {
  if (decision === 'allow') tally.newlyAllowed++
  else tally.newlyBlocked++
  const known = tally.changed.get(tool)
  if (known === undefined && tally.changed.size >= MAX_CHANGED_TOOLS) return
  const counts = known ?? { newlyAllowed: 0, asked: 0, newlyBlocked: 0 }
  tally.changed.set(tool, counts)
  if (decision === 'block') counts.newlyBlocked++
  else {
    counts.newlyAllowed++
    if (asked) counts.asked++
  }
}

/** The report of everything added to a tally. */
export function reportOf(tally: BacktestTally): RunReport {
  const tools = [...tally.tools].sort(([a], [b]) => (a < b ? -1 : 1))
  const covered = tools.filter(([tool]) => tally.plan.contracts.has(tool))
  const coveredCalls = covered.reduce((sum, [, { calls }]) => sum + calls, 0)
  return {
    sessions: tally.sessions,
    sessions_passed: tally.sessionsPassed,
    calls: tally.calls,
    calls_blocked: tally.callsBlocked,
    pass_rate: tally.sessions === 0 ? 1 : tally.sessionsPassed / tally.sessions,
    coverage: tally.calls === 0 ? 1 : coveredCalls / tally.calls,
    coverage_by_tool: tools.map(([tool, { calls, paths }]) => {
      const contract = tally.plan.contracts.get(tool)?.definition
      return {
        tool_name: tool,
        calls,
        covered: contract !== undefined,
        argument_paths: [...paths]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([path, seen]) => ({
            path,
            seen,
            constrained: contract !== undefined && isConstrained(contract, path),
          })),
      }
    }),
    would_block: Object.fromEntries([...tally.wouldBlock].sort(([a], [b]) => (a < b ? -1 : 1))),
    newly_allowed: tally.newlyAllowed,
    newly_blocked: tally.newlyBlocked,
    changed_calls: changedCalls(tally),
    not_judged: Object.fromEntries([...tally.notJudged].sort(([a], [b]) => (a < b ? -1 : 1))),
    divergences: tally.divergences,
  }
}

const changedCalls = ({ plan, changed }: BacktestTally): ChangedCalls[] =>
  [...changed]
    .map(([tool, { newlyAllowed, asked, newlyBlocked }]) => ({
      tool_name: tool,
      side_effect: plan.contracts.get(tool)?.definition.side_effect ?? null,
      newly_allowed: newlyAllowed,
      asked,
      newly_blocked: newlyBlocked,
    }))
    .sort(
      (a, b) =>
        b.newly_allowed - a.newly_allowed || b.newly_blocked - a.newly_blocked || (a.tool_name < b.tool_name ? -1 : 1),
    )

/** Whether a rule reads this path, or the schema describes the field that contains it. */
function isConstrained(contract: CompiledContract, path: string): boolean {
  const rules = [
    ...(contract.sources ?? []),
    ...(contract.refs ?? []),
    ...(contract.argument_value_invariants ?? []),
    ...(contract.aggregates ?? []),
    ...(contract.envelopes ?? []),
    ...(contract.execution_constraints?.arguments ?? []),
  ]
  if (rules.some((rule) => rule.path === path)) return true
  const schema = typeof contract.arguments === 'object' ? contract.arguments : {}
  const field = /^\$\.([A-Za-z_]\w*)/.exec(path)?.[1]
  const properties = schema.properties
  return (
    field !== undefined && typeof properties === 'object' && properties !== null && Object.hasOwn(properties, field)
  )
}
