import { type CompileNote, describeNote } from '@countersign/engine'
import { ApiError } from '../base/api-error.js'
import type { CompiledPack } from '../context/tasks.js'
import { compilePack } from '../packs/compile-pack.js'
import type { PlanFile } from '../store/governance/governance-plans.js'

/** Compiles the files of a pack. A pack with a fault is refused whole, with every fault by file and line. */
export async function readPack(files: readonly PlanFile[]): Promise<CompiledPack> {
  const pack = await compilePack(files)
  if (pack.ok) return pack
  throw refusal(pack.errors)
}

export const refusal = (errors: readonly CompileNote[]): ApiError => {
  const problems = errors.map(describeNote)
  return new ApiError('PLAN_INVALID', { detail: problems[0], problems: problems.slice(0, MAX_PROBLEMS) })
}

const MAX_PROBLEMS = 50
