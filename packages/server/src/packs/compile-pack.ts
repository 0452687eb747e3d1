import { type CompileNote, compilePlan, describeNote } from '@countersign/engine'
import { loadPolicyEvaluator } from '../base/policy.js'
import type { PackCompilation } from '../context/tasks.js'
import type { PlanFile } from '../store/governance/governance-plans.js'
import { firstOfEachKind } from './first-of-each-kind.js'

const SESSION_FILE = /(^|\/)session\.(ya?ml|json)$/

/** Compiles the files of a pack: its contracts, and at most one session definition. */
export async function compilePack(files: readonly PlanFile[]): Promise<PackCompilation> {
  const contracts = files.filter(({ file }) => !SESSION_FILE.test(file))
  const [session, second] = files.filter(({ file }) => SESSION_FILE.test(file))
  if (second !== undefined) return { ok: false, errors: [oneSession(second.file)] }
  const policy = await loadPolicyEvaluator()
  const compiled = compilePlan({ contracts, session }, { policy })
  if (!compiled.ok) return compiled
  const { compiled_session, compiled_hash, contractFiles, warnings } = compiled
  return {
    ok: true,
    hash: compiled_hash,
    compiled: JSON.stringify(compiled_session),
    contractFiles: [...contractFiles],
    contracts: compiled_session.contracts.length,
    surprise: compiled_session.session.surprise,
    advisories: firstOfEachKind(warnings.map(toAdvisory)),
  }
}

const toAdvisory = (note: CompileNote) => ({ tool_name: null, code: 'compiler', message: describeNote(note) })

const oneSession = (file: string) => ({
  file,
  line: null,
  path: '',
  message: 'a pack has one session definition',
  fix: 'remove one of them',
})
