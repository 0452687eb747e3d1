import type { PlanFile } from '../store/governance/governance-plans.js'
import type { AgentLearning } from './learned-drafts.js'

export type Contracts = Pick<AgentLearning, 'drafts' | 'written'> & Partial<Pick<AgentLearning, 'session'>>

/** A file of a pack, and the tool that its contract is about. */
export interface PackFile extends PlanFile {
  /** Null for the file of the session. */
  readonly tool: string | null
}

/** The pack that an agent's learning makes: a person's contracts as they are, the rest as learned. */
export function packOf(contracts: Contracts): PackFile[] {
  const written = [...contracts.written.values()].map(({ toolName, file, text }) => ({ tool: toolName, file, text }))
  const files = new Map<string, PackFile>()
  /** The next number of each name: all of them may have the same. */
  const copies = new Map<string, number>()
  const session = contracts.session == null ? [] : [{ tool: null, file: 'session.yaml', text: contracts.session }]
  for (const { tool, file, text } of [...session, ...written, ...learnedFiles(contracts)]) {
    let name = file
    let copy = copies.get(file) ?? 2
    for (; files.has(name); copy++) name = file.replace(/(\.\w+)?$/, `-${copy}$1`)
    copies.set(file, copy)
    files.set(name, { tool, file: name, text })
  }
  return [...files.values()].sort((a, b) => (a.file < b.file ? -1 : 1))
}

/** The contracts of the tools without a written one. */
export const learnedFiles = ({ drafts, written }: Contracts): PackFile[] =>
  drafts.filter(({ tool }) => !written.has(tool)).map(({ tool, file, text }) => ({ tool, file, text }))
