export { canonicalJson } from './canonical-json.js'
export {
  type CedarModule,
  type CedarRequest,
  createPolicyEvaluator,
  type PolicyDecision,
  type PolicyEvaluator,
  type PolicyQuestion,
  type PreparedPolicy,
} from './cedar.js'
export {
  addDecimals,
  compareDecimals,
  type Decimal,
  decimalText,
  isMultipleOf,
  multiplyDecimals,
  subtractDecimals,
  toDecimal,
} from './decimal.js'
export { equalValues } from './equal-values.js'
export { hashValue, saltedHash, sha256Hex } from './hash.js'
export { type CompiledPath, compilePath, locationPath, type PathCompilation, type PathNode } from './json-path.js'
export {
  type CompiledSchema,
  compileSchema,
  type SchemaCompilation,
  type SchemaProblem,
} from './json-schema.js'
export { flowOf, newTrail, sawCall, sawResult, sawUser, type Trail, takeColumns } from './learn/flows.js'
export {
  isOperatorName,
  OPERATORS,
  type Operator,
  type OperatorName,
  type OperatorTest,
  type PreparedOperator,
  prepareOperator,
} from './operators.js'
export {
  normalizeResponse,
  type ProviderRun,
  type ReadResponse,
  type ResponseFormat,
  readResponse,
  type ToolCall,
} from './read-calls.js'
export { compileRegex, type Regex, RegexTooCostlyError } from './regex.js'
export { type ResponseView, viewResponse } from './response-view.js'
export { judgeSources, type SourceContext, type SourceViolation } from './rules/sources.js'
export type { OpenStep, PendingCall, SessionState } from './state.js'
export { checkStrictValue, FORBIDDEN_KEYS, parseStrictJson, type StrictJson } from './strict-json.js'
