import {
  type CompiledContract,
  type CompiledSession,
  compiledSessionSchema,
  type JsonValue,
  LIMITS,
} from '@countersign/protocol'
import type { PolicyEvaluator } from '../contract/cedar.js'
import type { Plan, PreparedContract, PreparedPrecondition, Provision } from '../contract/plan.js'
import { asksBySource } from '../contract/source-rule.js'
import { askFrom } from '../contract/surprise.js'
import { canonicalJson } from '../json/canonical-json.js'
import { hashValue, sha256Hex } from '../json/hash.js'
import { checkStrictValue } from '../json/strict-json.js'
import { checkCounts } from './check-counts.js'
import { checkReferences } from './check-references.js'
import { buildPhaseGraph } from './phase-graph.js'
import { planWeight } from './plan-weight.js'
import { prepareContract, prepareHoursOf, preparePolicy } from './prepare-contract.js'
import { keyedEnvelopes } from './prepare-kept.js'
import { preparePrecondition } from './prepare-precondition.js'
import { checkPatterns, preparePricing } from './prepare-pricing.js'
import { prepareSharedLimits } from './prepare-shared-limits.js'
import { FIXES } from './report/fixes.js'
import { type Problem, Problems, type ReportTo } from './report/problem.js'

/** Options of `preparePlan`. */
export interface PrepareOptions {
  /** Without it a plan with policies can be prepared, but every call that a policy covers is denied. */
  readonly policy?: PolicyEvaluator | undefined
  readonly contractFiles?: ReadonlyMap<string, string> | undefined
  /** It is compiled from its sources now: a plan that was accepted once must go on being one. */
  readonly isNew?: boolean | undefined
  /** `compiledSessionSchema` made into code, which checks a large plan five times as fast. */
  readonly shape?: Pick<typeof compiledSessionSchema, 'safeParse'> | undefined
}

/** A prepared plan, or every problem found. */
export type Preparation = { ok: true; plan: Plan } | { ok: false; problems: string[] }

/**
 * Makes a compiled session ready to judge with. It may come from an untrusted source, so everything that compilation
 * checks is checked again: a plan is used whole or not at all.
 */
export function preparePlan(compiled: unknown, options: PrepareOptions = {}): Preparation {
  const strictProblem = checkStrictValue(compiled)
  if (strictProblem !== null)
    return { ok: false, problems: [`the compiled session is not plain JSON: ${strictProblem}`] }
  const shape = (options.shape ?? compiledSessionSchema).safeParse(compiled)
  if (!shape.success) {
    return { ok: false, problems: shape.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) }
  }
  const prepared = prepareParts(shape.data, options)
  return prepared.ok ? prepared : { ok: false, problems: prepared.problems.map(describeProblem) }
}

function describeProblem({ tool, path, message, fix }: PlanProblem): string {
  const place = [tool === null ? 'session' : `contract of ${tool}`, ...path].join('.')
  return `${place}: ${message} (${fix})`
}

/** The hash that names a compiled session: SHA-256 over its canonical JSON. */
export function hashPlan(compiled: CompiledSession): string {
  return hashValue(compiled as unknown as JsonValue)
}

/** A problem in a compiled session, by the contract's tool; null for the session definition. */
export interface PlanProblem extends Problem {
  readonly tool: string | null
  /** Distinguishes two contracts for the same tool. */
  readonly index: number | null
}

/** The plan, or its first problems. */
export type PreparedParts = { ok: true; plan: Plan } | { ok: false; problems: PlanProblem[] }

/** For a compiled session of valid shape. */
export function prepareParts(compiled: CompiledSession, options: PrepareOptions): PreparedParts {
  const problems = new Problems<PlanProblem>()
  const reportTo: ReportTo = (tool, index) => (path, message, fix) => {
    problems.add({ tool, index, path }, message, fix)
  }
  const { session } = compiled
  const sessionReport = reportTo(null, null)
  const canonical = canonicalJson(compiled as unknown as JsonValue)
  if (isTooLarge(canonical)) return { ok: false, problems: [TOO_LARGE] }
  const graph = buildPhaseGraph(session, sessionReport)

  const { demands, provisions } = collectPreconditions(compiled.contracts, reportTo)
  checkCounts(compiled.contracts, provisions, sessionReport)
  if (options.isNew) checkPatterns(session, sessionReport)
  const contracts = new Map<string, PreparedContract>()
  const keyed = keyedEnvelopes(compiled.contracts)
  for (const [index, contract] of compiled.contracts.entries()) {
    const report = reportTo(contract.tool, index)
    if (contracts.has(contract.tool)) {
      report(['tool'], `a second contract for the tool "${contract.tool}"`, FIXES.one_contract_per_tool)
      continue
    }
    const prepared = prepareContract(contract, {
      file: options.contractFiles?.get(contract.tool),
      session,
      evaluator: options.policy,
      preconditions: demands[index] ?? [],
      provides: [...(provisions.get(contract.tool)?.values() ?? [])],
      keyedEnvelopes: keyed,
      report,
    })
    contracts.set(contract.tool, prepared)
  }
  checkReferences(compiled, graph, reportTo)
  const policy = preparePolicy(options.policy, session.policy, sessionReport, null)
  const plan: Plan = {
    hash: sha256Hex(canonical),
    weight: planWeight(compiled, canonical.length),
    session,
    contracts,
    phases: graph,
    policy,
    hours: prepareHoursOf(session.hours, sessionReport),
    shared: prepareSharedLimits(compiled, sessionReport),
    ...derivedFrom(compiled, contracts),
    priceOf: preparePricing(session.pricing, sessionReport),
    longestTimeoutMs: (tools) => longestTimeout(contracts, tools),
  }
  const { kept, more } = problems
  if (kept.length === 0) return { ok: true, plan }
  return { ok: false, problems: more === 0 ? kept : [...kept, notListed(more)] }
}

const ofThePlan = (message: string, fix: string): PlanProblem => ({ tool: null, index: null, path: [], message, fix })

const TOO_LARGE = ofThePlan(`the plan is larger than ${LIMITS.planBytes} bytes`, 'split it across several agents')

/** What `preparePlan` says of a plan that is too large, found by its JSON alone. */
export const planSizeProblem = (json: string): string | null => (isTooLarge(json) ? describeProblem(TOO_LARGE) : null)

const isTooLarge = (json: string): boolean => Buffer.byteLength(json) > LIMITS.planBytes

const notListed = (more: number): PlanProblem =>
  ofThePlan(
    more === 1 ? 'one more problem is not listed' : `${more} more problems are not listed`,
    'correct the others first',
  )

function derivedFrom(compiled: CompiledSession, contracts: ReadonlyMap<string, PreparedContract>) {
  const all = [...contracts.values()]
  const inputPaths = new Set(all.flatMap((contract) => contract.inputInvariants.map(({ path }) => path.expression)))
  const forbiddenBy = new Map<string, Set<string>>()
  for (const { tool, definition } of all) {
    for (const forbidden of definition.forbids_after ?? []) {
      const by = forbiddenBy.get(forbidden)
      if (by === undefined) forbiddenBy.set(forbidden, new Set([tool]))
      else by.add(tool)
    }
  }
  const asks = (contract: PreparedContract) =>
    contract.checkpoints.length > 0 ||
    contract.risk === 'checkpoint' ||
    contract.definition.surprise !== undefined ||
    (contract.definition.sources ?? []).some(asksBySource)
  return {
    usesPolicy: compiled.session.policy !== undefined || all.some(({ definition }) => definition.policy !== undefined),
    needsProof:
      compiled.session.principal !== undefined || all.some(({ definition }) => definition.principal !== undefined),
    hasStickyLabels: all.some(({ definition }) => definition.labels?.sticks_to !== undefined),
    usesLabels: all.some(({ definition }) => definition.labels !== undefined),
    hasCheckpoints: all.some(asks),
    asksPeople:
      all.some(({ checkpoints }) => checkpoints.some(({ definition }) => definition.ask !== undefined)) ||
      (compiled.session.ask !== undefined && all.some(asks)),
    asksFrom: compiled.session.surprise === undefined ? null : askFrom(compiled.session.surprise),
    inputPaths: [...inputPaths].sort(),
    forbiddenBy,
  }
}

/** What each contract requires of earlier calls, and what each tool's calls must prove for that. */
function collectPreconditions(
  contracts: readonly CompiledContract[],
  reportTo: ReportTo,
): { demands: PreparedPrecondition[][]; provisions: Map<string, Map<string, Provision>> } {
  const provisions = new Map<string, Map<string, Provision>>()
  const demands: PreparedPrecondition[][] = []
  for (const [index, contract] of contracts.entries()) {
    const report = reportTo(contract.tool, index)
    const own: PreparedPrecondition[] = []
    for (const [item, precondition] of (contract.preconditions ?? []).entries()) {
      const { demand, provision } = preparePrecondition(precondition, ['preconditions', item], report)
      if (provision !== null) {
        const known = provisions.get(provision.tool) ?? new Map()
        if (!known.has(provision.key)) provisions.set(provision.tool, known.set(provision.key, provision))
      }
      own.push(demand)
    }
    demands.push(own)
  }
  return { demands, provisions }
}

const DEFAULT_TOOL_TIMEOUT_MS = 60_000

function longestTimeout(contracts: ReadonlyMap<string, PreparedContract>, tools: Iterable<string>): number {
  let longest = 0
  for (const tool of tools) {
    const contract = contracts.get(tool)
    const run = contract?.definition.timeouts?.total_ms ?? DEFAULT_TOOL_TIMEOUT_MS
    const asking = (contract?.checkpoints ?? []).map(({ definition }) => definition.timeout_seconds * 1_000)
    const bySource =
      contract?.risk === 'checkpoint' ||
      contract?.definition.surprise !== undefined ||
      contract?.definition.sources?.some(asksBySource)
    if (bySource) asking.push(LIMITS.checkpointTimeoutDefaultSeconds * 1_000)
    longest = Math.max(longest, run + asking.reduce((sum, ms) => sum + ms, 0))
  }
  return longest
}
