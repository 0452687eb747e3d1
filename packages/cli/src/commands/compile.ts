import { parseArgs } from 'node:util'
import { analyzePlan, describeNote } from '@countersign/engine'
import { compileContracts, ReplayConfigError } from '@countersign/sdk'
import { loadPolicyEvaluator } from '../policy/load-policy-evaluator.js'
import { type Command, UsageError } from '../terminal/command.js'

export const compile: Command = {
  usage: ['compile FOLDER [--json]'],
  summary: 'compile a contract pack; print the plan, its hash, warnings and advisories',
  help: () => 'Exit codes: 0 compiled; 1 refused, with the file and line of every error; 2 wrong usage.',
  run: async (args, { print, note }) => {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { json: { type: 'boolean' } },
      allowPositionals: true,
    })
    const [folder, ...rest] = positionals
    if (folder === undefined || rest.length > 0) throw new UsageError('expected one folder with contracts')
    const result = await compileFolder(folder)
    if (values.json === true) {
      print(JSON.stringify(result))
      return result.ok ? 0 : 1
    }
    if (!result.ok) {
      for (const error of result.errors) note(`error ${typeof error === 'string' ? error : describeNote(error)}`)
      return 1
    }
    print(JSON.stringify(result.compiled_session, null, 2))
    note(`compiled_hash ${result.compiled_hash}`)
    for (const warning of result.warnings) note(`warning ${describeNote(warning)}`)
    for (const { code, message } of result.advisories) note(`advisory ${code}: ${message}`)
    return 0
  },
}

async function compileFolder(folder: string) {
  try {
    const result = compileContracts(folder, { policy: await loadPolicyEvaluator() })
    if (!result.ok) return result
    const { compiled_hash, compiled_session, warnings } = result
    return { ok: true as const, compiled_hash, compiled_session, warnings, advisories: analyzePlan(compiled_session) }
  } catch (error) {
    if (error instanceof ReplayConfigError) return { ok: false as const, errors: [error.message] }
    throw error
  }
}
