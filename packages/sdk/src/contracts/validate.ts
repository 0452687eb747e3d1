import { suggestName, type ValidationResult, validateResponse } from '@countersign/engine'
import { ReplayConfigError } from '../base/errors.js'
import { type ContractsInput, type PreparedContracts, prepareContracts } from './contracts.js'

export interface ValidateOptions {
  /** Best prepared once with `prepareContracts`; what it takes is taken here too. */
  readonly contracts: PreparedContracts | ContractsInput
  /** `deny`: a call of a tool without a contract is a failure. */
  readonly unmatchedPolicy?: 'deny' | 'allow' | undefined
}

/** Validates one response of a model (OpenAI, Anthropic or normalized) by contracts, at once and without a session. */
export function validate(response: unknown, options: ValidateOptions): ValidationResult {
  checkOptions(options)
  const unmatched = options.unmatchedPolicy ?? 'deny'
  if (unmatched !== 'deny' && unmatched !== 'allow') {
    throw new ReplayConfigError(`unmatchedPolicy is deny or allow, not ${JSON.stringify(unmatched)}`, null)
  }
  const { plan } = isPrepared(options.contracts) ? options.contracts : prepareContracts(options.contracts)
  const startedMs = performance.now()
  const result = validateResponse(response, plan, { unmatched })
  return { ...result, evaluation_ms: performance.now() - startedMs }
}

const OPTION_NAMES: readonly string[] = ['contracts', 'unmatchedPolicy'] satisfies (keyof ValidateOptions)[]

function checkOptions(options: ValidateOptions): void {
  const given = typeof options === 'object' && options !== null ? options : {}
  for (const name of Object.keys(given)) {
    if (OPTION_NAMES.includes(name)) continue
    throw new ReplayConfigError(`option ${name} of validate is not an option: ${suggestName(name, OPTION_NAMES)}`, null)
  }
  if ('contracts' in given && given.contracts !== undefined && given.contracts !== null) return
  throw new ReplayConfigError(
    'validate needs the option contracts: what prepareContracts returned, or what it takes',
    null,
  )
}

function isPrepared(contracts: ValidateOptions['contracts']): contracts is PreparedContracts {
  return typeof contracts === 'object' && 'plan' in contracts && 'compiled_hash' in contracts
}
