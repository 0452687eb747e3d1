import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { parseStrictJson } from '@countersign/engine'
import { prepareContracts, ReplayConfigError, validate as validateResponse } from '@countersign/sdk'
import { loadPolicyEvaluator } from '../policy/load-policy-evaluator.js'
import { type Command, UsageError } from '../terminal/command.js'
import { UNMATCHED_FLAGS, UNMATCHED_USAGE, unmatchedPolicyOf } from '../terminal/unmatched-policy.js'

export const validate: Command = {
  usage: [`validate RESPONSE --contracts FOLDER ${UNMATCHED_USAGE} [--json]`],
  summary: "check a model's response (a JSON file, or - for standard input) against contracts",
  help: () =>
    'Exit codes: 0 the response passes; 1 it fails, or the contracts or the response are not usable; 2 wrong usage.',
  run: async (args, { print, note }) => {
    const { file, folder, unmatched, json } = readArguments(args)
    try {
      const response = readResponseFile(file)
      const contracts = prepareContracts(folder, { policy: await loadPolicyEvaluator() })
      const result = validateResponse(response, { contracts, unmatchedPolicy: unmatched })
      if (json) print(JSON.stringify(result))
      else print(summaryOf(result))
      return result.pass ? 0 : 1
    } catch (error) {
      if (!(error instanceof ReplayConfigError || error instanceof UnreadableResponse)) throw error
      if (json) print(JSON.stringify({ pass: false, error: error.message }))
      else note(`error ${error.message}`)
      return 1
    }
  },
}

class UnreadableResponse extends Error {}

function readArguments(args: readonly string[]) {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { contracts: { type: 'string' }, ...UNMATCHED_FLAGS, json: { type: 'boolean' } },
    allowPositionals: true,
  })
  const [file, ...rest] = positionals
  if (file === undefined || rest.length > 0) throw new UsageError('expected one response file')
  if (values.contracts === undefined) throw new UsageError('--contracts FOLDER is required')
  const unmatched = unmatchedPolicyOf(values, 'deny') === 'allow' ? 'allow' : 'deny'
  return { file, folder: values.contracts, unmatched, json: values.json === true } as const
}

const STANDARD_INPUT = 0

function readResponseFile(file: string): unknown {
  let text: string
  try {
    text = readFileSync(file === '-' ? STANDARD_INPUT : file, 'utf8')
  } catch (error) {
    throw new UnreadableResponse(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
  const parsed = parseStrictJson(text)
  if (!parsed.ok) throw new UnreadableResponse(`${file} is not a response: ${parsed.problem}`)
  return parsed.value
}

function summaryOf(result: ReturnType<typeof validateResponse>): string {
  const unmatched =
    result.unmatched_tools.length === 0 ? '' : `, without a contract: ${result.unmatched_tools.join(', ')}`
  const head = `${result.pass ? 'pass' : 'fail'}: ${result.matched_contracts} ${result.matched_contracts === 1 ? 'contract' : 'contracts'} applied${unmatched}`
  const failures = result.failures.map(({ path, operator, message, contract_file: file }) => {
    const place = file === undefined ? '' : `${file}: `
    return `  ${place}${path} ${operator}: ${message ?? 'failed'}`
  })
  return [head, ...failures].join('\n')
}
