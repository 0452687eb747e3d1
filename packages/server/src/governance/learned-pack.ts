import type { CompiledPack, DraftedTool } from '../context/tasks.js'
import { compilePack } from '../packs/compile-pack.js'
import type { PlanFile } from '../store/governance/governance-plans.js'
import type { AgentLearning } from './learned-drafts.js'
import { packOf } from './pack-of.js'
import { refusal } from './read-pack.js'

export interface LearnedPack {
  readonly files: PlanFile[]
  readonly pack: CompiledPack
}

/**
 * The pack of an agent's learning, compiled. Programs send schemas of any size and number: what is too much for a plan is
 * put down by its name and effect alone, first where the compiler finds fault, then for all tools, then for those that
 * were ever called. Contracts that people wrote stay as they are, and what is wrong with them is reported.
 */
export async function learnedPack({ drafts, written, session }: AgentLearning): Promise<LearnedPack> {
  let remaining = drafts
  for (const lighten of [onlyFaulty, allOfThem, theCalled, null]) {
    const named = packOf({ drafts: remaining, written, session })
    const files = named.map(({ file, text }) => ({ file, text }))
    const compiled = await compilePack(files)
    if (compiled.ok) return { files, pack: compiled }
    const wrong = new Set(compiled.errors.map(({ file }) => file))
    const faulty = new Set(named.filter(({ file }) => wrong.has(file)).flatMap(({ tool }) => tool ?? []))
    const isTheirs = faulty.size === wrong.size && [...faulty].every((tool) => written.has(tool))
    if (lighten === null || isTheirs) throw refusal(compiled.errors)
    remaining = lighten(remaining, faulty)
  }
  throw new Error('unreachable: the last attempt returns or throws')
}

type Lighten = (drafts: readonly DraftedTool[], faulty: ReadonlySet<string>) => readonly DraftedTool[]

const onlyFaulty: Lighten = (drafts, faulty) => drafts.map((draft) => (faulty.has(draft.tool) ? bare(draft) : draft))

const allOfThem: Lighten = (drafts) => drafts.map(bare)

const theCalled: Lighten = (drafts) => drafts.filter(({ samples }) => samples > 0).map(bare)

const bare = (draft: DraftedTool): DraftedTool => ({ ...draft, text: draft.bareText })
