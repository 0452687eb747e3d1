export { canonicalJson } from './canonical-json.js'
export {
  addDecimals,
  compareDecimals,
  type Decimal,
  decimalText,
  multiplyDecimals,
  subtractDecimals,
  toDecimal,
} from './decimal.js'
export { hashValue, saltedHash, sha256Hex } from './hash.js'
export { type CompiledPath, compilePath, locationPath, type PathCompilation, type PathNode } from './json-path.js'
export { flowOf, newTrail, sawCall, sawResult, sawUser, type Trail, takeColumns } from './learn/flows.js'
export { compileRegex, type Regex, RegexTooCostlyError } from './regex.js'
export { judgeSources, type SourceContext, type SourceViolation } from './rules/sources.js'
export type { OpenStep, PendingCall, SessionState } from './state.js'
export { checkStrictValue, FORBIDDEN_KEYS, MAX_DEPTH, parseStrictJson, type StrictJson } from './strict-json.js'
