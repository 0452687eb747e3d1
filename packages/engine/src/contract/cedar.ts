import type { JsonObject, JsonValue } from '@countersign/protocol'
import { impossibleAttributes } from './cedar-attributes.js'
import { type CedarInstance, createCedarInstance } from './cedar-instance.js'
import {
  type CedarAnswer,
  type CedarError,
  type CedarModule,
  CedarParseError,
  type CedarRequest,
} from './cedar-module.js'
import { readArguments } from './cedar-reads.js'
import { policyTextProblem } from './cedar-text.js'
import { CedarValueError, toCedarRecord } from './cedar-values.js'
import { DAYS } from './hours.js'

/** What a policy says about one request. */
export interface PolicyResult {
  /** `error` blocks like `deny`, but only `deny` can remove a tool before its arguments are known. */
  readonly decision: 'allow' | 'deny' | 'error'
  readonly errors: string[]
}

/** Who wants to do what; `arguments` is null while they are unknown. */
export interface PolicyQuestion {
  readonly principal: JsonValue
  readonly tool: string
  readonly agent: string
  readonly arguments: JsonObject | null
  readonly atMs: number
}

/** A parsed policy that can be asked. */
export interface PreparedPolicy {
  decide(question: PolicyQuestion): PolicyResult
  /** The layer below `decide`: takes a Cedar request, and also says which policies decided. */
  authorize(request: CedarRequest): PolicyResult & { readonly reasons: string[] }
}

/** Checks and prepares Cedar policies. */
export interface PolicyEvaluator {
  /**
   * What is wrong with a policy's text; empty when it can be used. `argumentNames`: all arguments that the tool takes, if
   * they are known.
   */
  check(policy: string, argumentNames?: readonly string[] | null): string[]
  /** Throws if it cannot be parsed. Whether what it reads can exist is for `check` to say. */
  prepare(policy: string): PreparedPolicy
  /** What the policies that Cedar has parsed take, as counted: 32 MB at most. */
  keptBytes(): number
}

/**
 * Creates an evaluator on a Cedar module. `load` gives a new instance each time: one that trapped is thrown away, since
 * it would fail for everybody from then on. A loaded module instead of a function cannot be replaced.
 */
export function createPolicyEvaluator(load: CedarModule | (() => CedarModule)): PolicyEvaluator {
  const instance = createCedarInstance(typeof load === 'function' ? load : () => load)
  return {
    check(policy, argumentNames = null) {
      const problems = textProblems(instance, policy)
      return problems.length > 0 ? problems : impossibleAttributes(policy, argumentNames)
    },
    prepare(policy) {
      const problems = textProblems(instance, policy)
      if (problems.length > 0) throw new Error(`the policy cannot be used: ${problems.join('; ')}`)
      const reads = { argument: readArguments(policy), time: /\btime\b/.test(policy) }
      const authorize = (request: CedarRequest) =>
        readAnswer(() =>
          instance.use(policy, ({ cedar, idOf }) =>
            cedar.statefulIsAuthorized({ ...request, preparsedPolicySetId: idOf(policy) }),
          ),
        )
      return { authorize, decide: (question) => decide(authorize, question, reads) }
    },
    keptBytes: instance.keptBytes,
  }
}

function textProblems(instance: CedarInstance, policy: string): string[] {
  const problem = policyTextProblem(policy)
  if (problem !== null) return [problem]
  try {
    instance.use(policy, ({ idOf }) => idOf(policy))
    return []
  } catch (error) {
    if (!(error instanceof CedarParseError)) return [messageOf(error)]
    return error.errors.map((each) => describe(each, policy))
  }
}

/** What a policy can read: only that is sent. */
interface PolicyReads {
  argument(name: string): boolean
  readonly time: boolean
}

function decide(authorize: PreparedPolicy['authorize'], question: PolicyQuestion, reads: PolicyReads): PolicyResult {
  try {
    const { decision, errors } = authorize(toRequest(question, reads))
    return { decision, errors }
  } catch (error) {
    if (error instanceof CedarValueError) return { decision: 'error', errors: [error.message] }
    throw error
  }
}

/**
 * As docs/reference/policies.md says. Unknown arguments are left out entirely, so that a policy that reads them is an
 * error and not a deny.
 */
function toRequest(question: PolicyQuestion, reads: PolicyReads): CedarRequest {
  const { id, attributes } = readPrincipal(question.principal)
  const principal = { type: 'Principal', id }
  // All are converted, so that what no policy may see is an error; those that this one can read are sent.
  const args = question.arguments === null ? null : toCedarRecord(question.arguments, 'arguments')
  return {
    principal,
    action: { type: 'Action', id: question.tool },
    resource: { type: 'Agent', id: question.agent },
    context: {
      ...(args !== null && { arguments: pick(args, reads.argument) }),
      ...(reads.time && { time: timeOf(question.atMs) }),
    },
    entities: [{ uid: principal, attrs: attributes, parents: [] }],
  }
}

/** In UTC, because Cedar knows no time zones: `hours` does. */
function timeOf(atMs: number): JsonObject {
  const at = new Date(atMs)
  return {
    hour: at.getUTCHours(),
    minute: at.getUTCMinutes(),
    weekday: DAYS[(at.getUTCDay() + 6) % 7] as string,
    epoch: Math.floor(atMs / 1_000),
  }
}

function pick(record: JsonObject, reads: (name: string) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(record).filter(([name]) => reads(name)))
}

function readPrincipal(principal: JsonValue): { id: string; attributes: JsonObject } {
  if (typeof principal === 'string') return { id: principal, attributes: { proven: false } }
  if (typeof principal !== 'object' || principal === null || Array.isArray(principal)) {
    throw new CedarValueError('the principal must be text or an object')
  }
  const id = principal.id ?? ''
  if (typeof id !== 'string' && typeof id !== 'number') throw new CedarValueError("the principal's id must be text")
  return { id: String(id), attributes: { proven: false, ...toCedarRecord(principal, 'principal') } }
}

function readAnswer(ask: () => CedarAnswer): ReturnType<PreparedPolicy['authorize']> {
  let answer: CedarAnswer
  try {
    answer = ask()
  } catch (error) {
    return { decision: 'error', errors: [messageOf(error)], reasons: [] }
  }
  if (answer.type === 'failure') {
    return { decision: 'error', errors: answer.errors.map((error) => error.message), reasons: [] }
  }
  const { decision, diagnostics } = answer.response
  const errors = diagnostics.errors.map(({ policyId, error }) => `${policyId}: ${error.message}`)
  // Cedar skips a policy that errors, even a forbid; here that counts as no decision.
  return { decision: errors.length > 0 ? 'error' : decision, errors, reasons: diagnostics.reason }
}

function describe(error: CedarError, policy: string): string {
  const start = error.sourceLocations?.[0]?.start
  if (start === undefined) return error.message
  const line = Buffer.from(policy).subarray(0, start).toString().split('\n').length
  return `line ${line}: ${error.message}`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
