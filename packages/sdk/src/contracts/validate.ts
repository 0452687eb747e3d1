import { suggestName, type ValidationResult, validateResponse } from '@countersign/engine'
import { ReplayConfigError } from '../base/errors.js'
import { type ContractsInput, isPrepared, type PreparedContracts, prepareContracts } from './contracts.js'

/** Options of `validate`. */
export interface ValidateOptions {
  /** The result of `prepareContracts`, or what that function takes. Prepare once to validate often. */
  readonly contracts: PreparedContracts | ContractsInput
  /**
   * Whether a call of a tool without a contract fails.
   * @defaultValue `'deny'`
   */
  readonly unmatchedPolicy?: 'deny' | 'allow' | undefined
}

/** Checks one model response (OpenAI, Anthropic or normalized) against contracts, without a session. */
export function validate(response: unknown, options: ValidateOptions): ValidationResult {
  checkOptions(options)
  const unmatched = options.unmatchedPolicy ?? 'deny'
  if (unmatched !== 'deny' && unmatched !== 'allow') {
    throw new ReplayConfigError(
      `option unmatchedPolicy of validate must be deny or allow, not ${JSON.stringify(unmatched)}`,
      null,
    )
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
    throw new ReplayConfigError(`option ${name} of validate is unknown: ${suggestName(name, OPTION_NAMES)}`, null)
  }
  if ('contracts' in given && given.contracts !== undefined && given.contracts !== null) return
  throw new ReplayConfigError(
    'validate needs the option contracts: the result of prepareContracts, or what that function takes',
    null,
  )
}
