import {
  type CompiledContract,
  type CompiledSession,
  contractSchema,
  type JsonValue,
  sessionDefinitionSchema,
} from '@countersign/protocol'
import type { PolicyEvaluator } from '../contract/cedar.js'
import type { Plan } from '../contract/plan.js'
import { compileContract, compileDefinition } from './compile-contract.js'
import { planWarnings } from './plan-warnings.js'
import { type PlanProblem, prepareParts } from './prepare-plan.js'
import type { CompiledSource } from './read-source.js'
import { type ContractSource, type ReadSource, readSource } from './read-source.js'
import { type CompileNote, inOrder, writePlace } from './report/compile-note.js'
import { FIXES } from './report/fixes.js'
import { shapeNotes } from './shape-notes.js'

/** The sources of a plan: contracts, and optionally a session definition. */
export interface PlanSources {
  readonly contracts: readonly ContractSource[]
  readonly session?: ContractSource | undefined
}

/** The compiled plan with its warnings, or every error found. */
export type CompileResult =
  | {
      readonly ok: true
      readonly compiled_session: CompiledSession
      readonly compiled_hash: string
      readonly contractFiles: Map<string, string>
      /** Rules that look odd together, or say less than they seem to. */
      readonly warnings: CompileNote[]
      readonly plan: Plan
    }
  | { readonly ok: false; readonly errors: CompileNote[] }

/** Compiles contracts and a session definition into a plan, or reports everything that is wrong with them. */
export function compilePlan(
  sources: PlanSources,
  options: { policy?: PolicyEvaluator | undefined } = {},
): CompileResult {
  const errors: CompileNote[] = []
  const contracts: CompiledSource<CompiledContract>[] = []
  for (const source of sources.contracts) contracts.push(...readContract(source, errors))
  const session = sources.session === undefined ? null : readDefinition(sources.session, errors)
  reportDuplicates(contracts, errors)
  if (errors.length > 0) return { ok: false, errors: inOrder(errors) }

  contracts.sort((a, b) => (a.compiled.tool < b.compiled.tool ? -1 : 1))
  const compiled: CompiledSession = {
    plan_version: 1,
    session: session?.compiled ?? {},
    contracts: contracts.map((contract) => contract.compiled),
  }
  const files = contracts.filter(({ source }) => source.isFile)
  const contractFiles = new Map(files.map(({ source, compiled: { tool } }) => [tool, source.file]))
  const prepared = prepareParts(compiled, { policy: options.policy, contractFiles, isNew: true })
  if (!prepared.ok) {
    const sourceOf = ({ index }: PlanProblem) => (index === null ? session?.source : contracts[index]?.source)
    return { ok: false, errors: inOrder(prepared.problems.map((problem) => toNote(problem, sourceOf(problem)))) }
  }
  const { plan } = prepared
  const warnings = inOrder(planWarnings(plan, contracts, session))
  return { ok: true, compiled_session: compiled, compiled_hash: plan.hash, contractFiles, warnings, plan }
}

function readContract(source: ContractSource, errors: CompileNote[]): CompiledSource<CompiledContract>[] {
  const reading = readSource(source)
  if (!reading.ok) {
    errors.push(...reading.notes)
    return []
  }
  const shape = contractSchema.safeParse(reading.source.value)
  if (shape.success) return [{ source: reading.source, compiled: compileContract(shape.data) }]
  errors.push(...shapeNotes(shape.error.issues, reading.source, contractSchema))
  return []
}

function readDefinition(
  source: ContractSource,
  errors: CompileNote[],
): CompiledSource<CompiledSession['session']> | null {
  const reading = readSource(source)
  if (!reading.ok) {
    errors.push(...reading.notes)
    return null
  }
  const shape = sessionDefinitionSchema.safeParse(emptyAsObject(reading.source.value))
  if (shape.success) return { source: reading.source, compiled: compileDefinition(shape.data) }
  errors.push(...shapeNotes(shape.error.issues, reading.source, sessionDefinitionSchema))
  return null
}

/** A session.yaml that contains only comments defines nothing. */
const emptyAsObject = (value: JsonValue): JsonValue => (value === null ? {} : value)

function reportDuplicates(contracts: readonly CompiledSource<CompiledContract>[], errors: CompileNote[]): void {
  const files = new Map<string, string>()
  for (const { source, compiled } of contracts) {
    const first = files.get(compiled.tool)
    files.set(compiled.tool, first ?? source.file)
    if (first === undefined) continue
    errors.push({
      file: source.file,
      line: source.lineAt(['tool']),
      path: 'tool',
      message: `a second contract for the tool "${compiled.tool}"; the first is in ${first}`,
      fix: FIXES.one_contract_per_tool,
    })
  }
}

function toNote({ tool, path, message, fix }: PlanProblem, source: ReadSource | undefined): CompileNote {
  const file = source?.file ?? (tool === null ? 'session.yaml' : tool)
  return { file, line: source?.lineAt(path) ?? null, path: writePlace(path), message, fix }
}
