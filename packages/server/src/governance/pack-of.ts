import { type Draft, type Steps, writeContract } from '@countersign/engine'
import type { PlanFile } from '../store/governance-plans.js'
import type { AgentLearning } from './learned-drafts.js'

/** The pack that an agent's learning makes: a person's contracts as they are, the rest as learned. Tool by tool. */
export function* packOf({ drafts, written }: Pick<AgentLearning, 'drafts' | 'written'>): Steps<PlanFile[]> {
  const files = new Map<string, PlanFile>()
  for (const { file, text } of [...written.values(), ...(yield* learnedFiles({ drafts, written }))]) {
    let name = file
    for (let copy = 2; files.has(name); copy++) name = file.replace(/(\.\w+)?$/, `-${copy}$1`)
    files.set(name, { file: name, text })
    yield
  }
  return [...files.values()].sort((a, b) => (a.file < b.file ? -1 : 1))
}

/** The contracts of the tools for which nobody wrote one. */
export function* learnedFiles({ drafts, written }: Pick<AgentLearning, 'drafts' | 'written'>): Steps<PlanFile[]> {
  const files: PlanFile[] = []
  for (const draft of unwritten({ drafts, written })) {
    files.push(writeContract(draft))
    yield
  }
  return files
}

const unwritten = ({ drafts, written }: Pick<AgentLearning, 'drafts' | 'written'>): Draft[] =>
  drafts.filter(({ contract }) => !written.has(contract.tool))
