import { type CompileNote, type CompileResult, compilePlanInSteps, describeNote } from '@countersign/engine'
import { LIMITS } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { sha256 } from '../base/crypto/secrets.js'
import { loadPolicyEvaluator } from '../base/policy.js'
import { type Done, turns } from '../base/work/in-turns.js'
import type { Context } from '../context/context.js'
import { refusePlan, requireNotRefused } from '../context/refuse-plan.js'
import { workOwner } from '../context/work.js'
import type { PlanFile } from '../store/governance/governance-plans.js'

export type CompiledPack = Extract<CompileResult, { ok: true }>

const SESSION_FILE = /(^|\/)session\.(ya?ml|json)$/

/**
 * Compiles the files of a pack. A pack with a fault is refused whole, with every fault by file and line, and at once where
 * the same files were refused before.
 */
export async function readPack(ctx: Context, files: readonly PlanFile[]): Promise<CompiledPack> {
  const hash = sha256(JSON.stringify(files.map(({ file, text }) => [file, text]))).toString('base64url')
  requireNotRefused(ctx, hash)
  const { value, ms } = await compileInTurns(ctx, files)
  if (value.ok) return value
  throw await refusePlan(ctx, { hash, problems: value.errors.map(describeNote), most: MAX_PROBLEMS, ms })
}

export const compilePack = async (ctx: Context, files: readonly PlanFile[]): Promise<CompileResult> =>
  (await compileInTurns(ctx, files)).value

async function compileInTurns(ctx: Context, files: readonly PlanFile[]): Promise<Done<CompileResult>> {
  const sources = files.map(({ file, text }) => ({ file, text }))
  const sessions = sources.filter(({ file }) => SESSION_FILE.test(file))
  if (sessions.length > 1) throw refuse(['a pack has one session definition'])
  const contracts = sources.filter(({ file }) => !SESSION_FILE.test(file))
  const policy = await loadPolicyEvaluator()
  return turns.run(workOwner(ctx), compilePlanInSteps({ contracts, session: sessions[0] }, { policy }))
}

export const refusal = (errors: readonly CompileNote[]): ApiError => refuse(errors.map(describeNote))

const MAX_PROBLEMS = 50
const refuse = (problems: readonly string[]): ApiError =>
  new ApiError('PLAN_INVALID', { detail: problems[0], problems: problems.slice(0, MAX_PROBLEMS) })

/** Notes of the compiler that a person should read before approving. */
export const warningsOf = ({ warnings }: CompiledPack): CompileNote[] => warnings.slice(0, LIMITS.toolsPerPreflight)
