import { type ValidationResult, validateResponse } from '@countersign/engine'
import { type ContractsInput, type PreparedContracts, prepareContracts } from './contracts.js'
import { ReplayConfigError } from './errors.js'

export interface ValidateOptions {
  /** Best prepared once with `prepareContracts`; what it takes is taken here too. */
  readonly contracts: PreparedContracts | ContractsInput
  /** `deny`: a call of a tool without a contract is a failure. */
  readonly unmatchedPolicy?: 'deny' | 'allow' | undefined
}

/** Validates one response of a model (OpenAI, Anthropic or normalized) by contracts, at once and without a session. */
export function validate(response: unknown, options: ValidateOptions): ValidationResult {
  const unmatched = options.unmatchedPolicy ?? 'deny'
  if (unmatched !== 'deny' && unmatched !== 'allow') {
    throw new ReplayConfigError(`unmatchedPolicy is deny or allow, not ${JSON.stringify(unmatched)}`, null)
  }
  const { plan } = isPrepared(options.contracts) ? options.contracts : prepareContracts(options.contracts)
  const startedMs = performance.now()
  const result = validateResponse(response, plan, { unmatched })
  return { ...result, evaluation_ms: performance.now() - startedMs }
}

function isPrepared(contracts: ValidateOptions['contracts']): contracts is PreparedContracts {
  return typeof contracts === 'object' && 'plan' in contracts && 'compiled_hash' in contracts
}
