import { compilePlan, describeNote, type Plan, principalKey } from '@countersign/engine'
import type { CompiledSession, PlanLookup } from '@countersign/protocol'
import { messageOf, type Report } from '../../base/diagnostics.js'
import { ReplayConfigError } from '../../base/errors.js'
import { compilationFailed, isPrepared, type PreparedContracts } from '../../contracts/contracts.js'
import { loadCompiled, loadContracts, loadPrepared } from '../../contracts/load-contracts.js'
import type { ReplaySettings } from '../../options/replay-settings.js'

/** A plan ready to judge, beside the form in which it travels. */
export interface LoadedPlan {
  readonly plan: Plan
  readonly compiled: { readonly hash: string; readonly session: CompiledSession }
  /** A contract asks where the values of arguments came from. */
  readonly readsSources: boolean
}

function loadedPlan(plan: Plan, hash: string, session: CompiledSession): LoadedPlan {
  const readsSources = session.contracts.some(({ sources }) => sources !== undefined && sources.length > 0)
  return { plan, compiled: { hash, session }, readsSources }
}

export function hasContracts({ contracts, contractsDir, sessionYamlPath }: ReplaySettings): boolean {
  return contracts !== null || contractsDir !== undefined || sessionYamlPath !== undefined
}

/** The plan of the contracts that the options name. Throws with everything that is wrong with them. */
export function loadPlan({ contracts, contractsDir, sessionYamlPath }: ReplaySettings, report: Report): LoadedPlan {
  if (contracts !== null && contractsDir !== undefined) {
    throw new ReplayConfigError('give either contracts or contractsDir, not both', 'compilation_failed')
  }
  if (isPrepared(contracts)) return loadPreparedPlan(contracts, sessionYamlPath)
  const compiled = loadContracts(contractsDir ?? contracts ?? [], sessionYamlPath)
  if (!compiled.ok) {
    report({ type: 'replay_compile_error', errors: compiled.errors.map(describeNote) })
    throw compilationFailed(compiled.errors)
  }
  if (compiled.warnings.length > 0) {
    report({ type: 'replay_compile_warning', warnings: compiled.warnings.map(describeNote) })
  }
  return loadedPlan(compiled.plan, compiled.compiled_hash, compiled.compiled_session)
}

function loadPreparedPlan(contracts: PreparedContracts, sessionYamlPath: string | undefined): LoadedPlan {
  if (sessionYamlPath !== undefined) {
    throw new ReplayConfigError(
      'the contracts are prepared already, with their session definition: pass it to prepareContracts instead of sessionYamlPath',
      'compilation_failed',
    )
  }
  const result = loadPrepared(contracts)
  if (!result.ok)
    throw new ReplayConfigError(
      `the prepared contracts cannot be used: ${result.problems.join('; ')}`,
      'compilation_failed',
    )
  return loadedPlan(result.plan, contracts.compiled_hash, contracts.compiled_session)
}

/** A session without rules: for the time before a plan is attached, and where nothing is judged. */
export function emptyPlan(): LoadedPlan {
  const compiled = compilePlan({ contracts: [] })
  if (!compiled.ok) throw new Error('an empty plan does not compile')
  return loadedPlan(compiled.plan, compiled.compiled_hash, compiled.compiled_session)
}

type ReadPlan = { ok: true; loaded: LoadedPlan } | { ok: false; problem: string }

/** The approved plan of a lookup, checked against its hash. */
export function readApprovedPlan({
  compiled_session: session,
  compiled_hash: hash,
}: Pick<PlanLookup, 'compiled_session' | 'compiled_hash'>): ReadPlan {
  if (session === null || hash === null)
    return { ok: false, problem: 'the server reports an approved plan but did not send it' }
  try {
    const prepared = loadCompiled(session, hash)
    if (!prepared.ok) return { ok: false, problem: prepared.problems.join('; ') }
    if (prepared.plan.hash !== hash) return { ok: false, problem: 'the hash of the plan differs from the approved one' }
    return { ok: true, loaded: loadedPlan(prepared.plan, hash, session) }
  } catch (error) {
    return { ok: false, problem: messageOf(error) }
  }
}

/** What holds beyond one session is kept by the server: nothing in this process knows of the other sessions. */
function checkSharedRules({ shared, hasStickyLabels }: Plan, settings: ReplaySettings): void {
  if (shared === null && !hasStickyLabels) return
  const what = shared === null ? 'labels that stick to the principal' : 'shared_limits'
  if (settings.apiKey === null || settings.tools === null) {
    const missing = settings.apiKey === null ? 'apiKey (or COUNTERSIGN_API_KEY) and tools' : 'tools'
    throw new ReplayConfigError(
      `the contracts have ${what}, which hold over all sessions and only the server can keep: pass ${missing}, or remove them`,
      'compilation_failed',
    )
  }
  const needsPrincipal = hasStickyLabels || shared?.needs.principal === true
  if (!needsPrincipal || settings.principalToken !== null || principalKey(settings.principal) !== null) return
  throw new ReplayConfigError(
    `the contracts have ${what} for each principal: pass the option principal, as text or as an object with an id`,
    'compilation_failed',
  )
}

/** A token is checked by the server: nothing in this process can prove a principal. */
function checkProof({ needsProof }: Plan, { apiKey, tools, principalToken }: ReplaySettings): void {
  if (!needsProof || (apiKey !== null && tools !== null && principalToken !== null)) return
  const missing = [
    ...(principalToken === null ? ['principalToken'] : []),
    ...(apiKey === null ? ['apiKey (or COUNTERSIGN_API_KEY)'] : []),
    ...(tools === null ? ['tools'] : []),
  ]
  throw new ReplayConfigError(
    `the contracts want a proven principal, and only the server can check a token: pass ${missing.join(' and ')}`,
    'compilation_failed',
  )
}

/** Throws when the session was not given what the plan needs. A session that only watches needs less. */
export function checkPlanUse({ plan }: LoadedPlan, settings: ReplaySettings, isEnforced: boolean): void {
  if (plan.usesPolicy && settings.principal === undefined && settings.principalToken === null) {
    throw new ReplayConfigError('the contracts have a policy: pass the option principal', 'policy_without_principal')
  }
  if (!isEnforced) return
  checkSharedRules(plan, settings)
  checkProof(plan, settings)
  for (const [tool, { executionConstraints }] of plan.contracts) {
    if (executionConstraints.length === 0 || settings.addsTools || settings.tools?.has(tool)) continue
    throw new ReplayConfigError(
      `the contract of ${tool} has execution_constraints, which only a wrapped tool can check: add ${tool} to the option tools`,
      'constraints_without_wrapper',
    )
  }
  if (asksProgram(plan, settings.asks) && settings.onCheckpoint === undefined && !settings.asksLater) {
    throw new ReplayConfigError(
      'the contracts have checkpoints: pass the option onCheckpoint, a function or askPeople()',
      'compilation_failed',
    )
  }
}

/** Some checkpoint asks the program; the others ask members of the tenant. */
function asksProgram(plan: Plan, asks: ReplaySettings['asks']): boolean {
  if (!plan.hasCheckpoints || asks !== null || plan.session.ask !== undefined) return false
  return [...plan.contracts.values()].some(
    ({ checkpoints, risk, definition }) =>
      risk === 'checkpoint' ||
      definition.surprise !== undefined ||
      definition.sources?.some(({ otherwise }) => otherwise === 'ask') === true ||
      checkpoints.some((checkpoint) => checkpoint.definition.ask === undefined),
  )
}
