import type { JsonObject, JsonValue } from '@countersign/protocol'
import { policyNestingProblem } from './cedar-nesting.js'
import { CedarValueError, toCedarRecord } from './cedar-values.js'

/** The part of `@cedar-policy/cedar-wasm/nodejs` in use. It is injected, so that only plans with a policy load it. */
export interface CedarModule {
  checkParsePolicySet(policies: { staticPolicies: string }): CedarParseAnswer
  preparsePolicySet(id: string, policies: { staticPolicies: string }): CedarParseAnswer
  statefulIsAuthorized(call: CedarRequest & { preparsedPolicySetId: string }): CedarAnswer
}

export type CedarParseAnswer = { type: 'success' } | { type: 'failure'; errors: CedarError[] }
export interface CedarError {
  message: string
  sourceLocations?: { start: number }[]
}
export type CedarAnswer =
  | { type: 'failure'; errors: CedarError[] }
  | {
      type: 'success'
      response: {
        decision: 'allow' | 'deny'
        diagnostics: { reason: string[]; errors: { policyId: string; error: CedarError }[] }
      }
    }

/** A request in Cedar's terms, with values in Cedar's JSON. */
export interface CedarRequest {
  principal: CedarEntityId
  action: CedarEntityId
  resource: CedarEntityId
  context: JsonObject
  entities: { uid: CedarEntityId; attrs: JsonObject; parents: CedarEntityId[] }[]
}
export interface CedarEntityId {
  type: string
  id: string
}

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
}

/** A parsed policy that can be asked. */
export interface PreparedPolicy {
  decide(question: PolicyQuestion): PolicyResult
  /** The layer below `decide`: takes a Cedar request, and also says which policies decided. */
  authorize(request: CedarRequest): PolicyResult & { readonly reasons: string[] }
}

/** Checks and prepares Cedar policies. */
export interface PolicyEvaluator {
  /** What is wrong with a policy's text; empty when it can be used. */
  check(policy: string): string[]
  /** Throws if `check` finds a problem. */
  prepare(policy: string): PreparedPolicy
}

/** Creates an evaluator on a loaded Cedar module. */
export function createPolicyEvaluator(cedar: CedarModule): PolicyEvaluator {
  const parsed = createParsedSets(cedar)
  const check = (policy: string) => checkPolicy(cedar, policy)
  return {
    check,
    prepare(policy) {
      const problems = check(policy)
      if (problems.length > 0) throw new Error(`the policy cannot be used: ${problems.join('; ')}`)
      const authorize = (request: CedarRequest) =>
        readAnswer(() => cedar.statefulIsAuthorized({ ...request, preparsedPolicySetId: parsed.idOf(policy) }))
      return { authorize, decide: (question) => decide(authorize, question) }
    },
  }
}

const MAX_POLICY_LENGTH = 65_536
/** Cedar caches what it parsed under a name, forever. At most this many names are used, then reused. */
const MAX_PARSED_SETS = 256

function checkPolicy(cedar: CedarModule, policy: string): string[] {
  if (policy.length > MAX_POLICY_LENGTH) return [`the policy is longer than ${MAX_POLICY_LENGTH} characters`]
  const nesting = policyNestingProblem(policy)
  if (nesting !== null) return [nesting]
  if (!/\b(?:permit|forbid)\b/.test(policy)) return ['the policy has no statement, so it would deny everything']
  try {
    const answer = cedar.checkParsePolicySet({ staticPolicies: policy })
    return answer.type === 'success' ? [] : answer.errors.map((error) => describe(error, policy))
  } catch (error) {
    return [messageOf(error)]
  }
}

/** Numbers the evaluators: two on one module must not share a name. */
let evaluators = 0

function createParsedSets(cedar: CedarModule): { idOf(policy: string): string } {
  const prefix = `countersign-${evaluators++}`
  const ids = new Map<string, string>()
  return {
    idOf(policy) {
      const known = ids.get(policy)
      if (known !== undefined) {
        // In order of use, least recent first.
        ids.delete(policy)
        ids.set(policy, known)
        return known
      }
      const [oldest] = ids
      const isFull = ids.size >= MAX_PARSED_SETS
      const id = isFull && oldest !== undefined ? oldest[1] : `${prefix}-${ids.size}`
      if (isFull && oldest !== undefined) ids.delete(oldest[0])
      const answer = cedar.preparsePolicySet(id, { staticPolicies: policy })
      if (answer.type === 'failure') throw new Error(answer.errors.map((error) => error.message).join('; '))
      ids.set(policy, id)
      return id
    },
  }
}

function decide(authorize: PreparedPolicy['authorize'], question: PolicyQuestion): PolicyResult {
  try {
    const { decision, errors } = authorize(toRequest(question))
    return { decision, errors }
  } catch (error) {
    if (error instanceof CedarValueError) return { decision: 'error', errors: [error.message] }
    throw error
  }
}

/**
 * The principal is `Principal::"<id>"` with its fields as attributes, the action `Action::"<tool>"`, the resource
 * `Agent::"<agent>"`; the arguments are `context.arguments`. Unknown arguments are left out entirely, so that a
 * policy that reads them is an error and not a deny.
 */
function toRequest(question: PolicyQuestion): CedarRequest {
  const { id, attributes } = readPrincipal(question.principal)
  const principal = { type: 'Principal', id }
  return {
    principal,
    action: { type: 'Action', id: question.tool },
    resource: { type: 'Agent', id: question.agent },
    context: question.arguments === null ? {} : { arguments: toCedarRecord(question.arguments, 'arguments') },
    entities: [{ uid: principal, attrs: attributes, parents: [] }],
  }
}

function readPrincipal(principal: JsonValue): { id: string; attributes: JsonObject } {
  if (typeof principal === 'string') return { id: principal, attributes: {} }
  if (typeof principal !== 'object' || principal === null || Array.isArray(principal)) {
    throw new CedarValueError('the principal must be text or an object')
  }
  const id = principal.id ?? ''
  if (typeof id !== 'string' && typeof id !== 'number') throw new CedarValueError("the principal's id must be text")
  return { id: String(id), attributes: toCedarRecord(principal, 'principal') }
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
