import { writeContract } from '@countersign/engine'
import type { PlanFile } from '../store/governance-plans.js'
import type { AgentLearning } from './learned-drafts.js'

/** The pack that an agent's learning makes: a person's contracts as they are, the rest as learned. */
export function packOf({ drafts, written }: AgentLearning): PlanFile[] {
  const learned = drafts.filter(({ contract }) => !written.has(contract.tool)).map(writeContract)
  const files = new Map<string, PlanFile>()
  for (const { file, text } of [...written.values(), ...learned]) {
    let name = file
    for (let copy = 2; files.has(name); copy++) name = file.replace(/(\.\w+)?$/, `-${copy}$1`)
    files.set(name, { file: name, text })
  }
  return [...files.values()].sort((a, b) => (a.file < b.file ? -1 : 1))
}
