import type { JsonObject } from '@countersign/protocol'

/** The part of `@cedar-policy/cedar-wasm/nodejs` in use. It is injected, so that only plans with a policy load it. */
export interface CedarModule {
  /** Parses a set of policies and keeps it under a name. */
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

/** What is wrong with a policy that Cedar could not parse. */
export class CedarParseError extends Error {
  constructor(readonly errors: readonly CedarError[]) {
    super(errors.map(({ message }) => message).join('; '))
    this.name = 'CedarParseError'
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

/** What Node's `require` is, as far as a module is loaded again with it. */
export interface ModuleLoader {
  (id: string): unknown
  resolve(id: string): string
  cache: Record<string, unknown>
}

/** A new instance of Cedar: its package makes one when it is loaded, so it is loaded again. */
export function loadCedar(require: ModuleLoader): CedarModule {
  const path = require.resolve('@cedar-policy/cedar-wasm/nodejs')
  delete require.cache[path]
  return require(path) as CedarModule
}
