import { type ContractRow, confidenceOf, type Input, type Reply, type Routes } from '@countersign/protocol'
import type { UserContext } from '../context/context.js'
import { inRead } from '../context/work.js'
import { describePack } from '../packs/describe-pack.js'
import { findDrift } from '../packs/find-drift.js'
import { listLearnedAgents } from '../store/captures/learned-tools.js'
import { findApprovedPlans } from '../store/governance/plans.js'
import { type AgentLearning, learnedDrafts } from './learned-drafts.js'
import { learnedFiles } from './pack-of.js'

/** Contracts as learned or written, with how far each can be trusted and what drifted since its approval. */
export async function listContracts(
  ctx: UserContext,
  { query }: Input<Routes['listContracts']>,
): Promise<Reply<Routes['listContracts']>> {
  const agents = await inRead(ctx, (sql) => listLearnedAgents(sql, ctx.tenant.tenantId, query.agent ?? null))
  const contracts: ContractRow[] = []
  let size = 0
  let more = false
  for (const { agent } of agents) {
    const learning = await learnedDrafts(ctx, { agent, measure: null })
    if (learning === null) continue
    more ||= learning.hasUnread
    for (const row of await rowsOf(ctx, learning)) {
      size += sizeOf(row)
      if (size > MOST_CHARACTERS) return { contracts, more: true }
      contracts.push(row)
    }
  }
  return { contracts, more }
}

/** A tenant may have hundreds of agents, and the schema of one tool a megabyte. */
const MOST_CHARACTERS = 4 * 1024 * 1024

const sizeOf = ({ yaml, words, notes, drift }: ContractRow): number =>
  [yaml, ...words, ...notes, ...drift].reduce((sum, text) => sum + text.length, 0)

async function rowsOf(ctx: UserContext, learning: AgentLearning): Promise<ContractRow[]> {
  const running = await inRead(ctx, (sql) => findApprovedPlans(sql, ctx.tenant.tenantId, learning.agent))
  const approved = new Set(running.flatMap(({ tools }) => tools))
  const drift = await driftOf(learning, running[0]?.compiled ?? null)
  const words = await wordsOfWritten(learning)
  const now = ctx.app.clock()
  return learning.drafts.map((draft) => {
    const { tool } = draft
    const written = learning.written.get(tool)
    const known = learning.tools.get(tool)
    const unjudged = Math.max(draft.samples - (known?.passed ?? 0), 0)
    return {
      agent: learning.agent,
      tool_name: tool,
      source: written === undefined ? 'inferred' : 'customer',
      confidence: confidenceOf(draft.samples),
      calls: (known?.judged ?? 0) + unjudged,
      samples: draft.samples,
      unjudged,
      sessions: known?.sessions ?? 0,
      false_block_bound: draft.samples > 0 ? draft.falseBlockBound : null,
      pass_rate: known === undefined || known.judged === 0 ? null : known.passed / known.judged,
      approved: approved.has(tool),
      drift: (written === undefined && drift.get(tool)) || [],
      words: [...(words.get(tool) ?? draft.words)],
      notes: written === undefined ? [...draft.notes] : [],
      yaml: written?.text ?? draft.text,
      updated_at: (known?.updatedAt ?? now).toISOString(),
    }
  })
}

/** Contracts that people wrote, in words. One that does not compile by itself has none. */
async function wordsOfWritten({ written }: AgentLearning): Promise<Map<string, readonly string[]>> {
  const words = new Map<string, readonly string[]>()
  if (written.size === 0) return words
  const files = [...written.values()].map(({ file, text }) => ({ file, text }))
  const described = await describePack(files)
  for (const [at, tool] of [...written.keys()].entries()) {
    const own = described[at]
    if (own) words.set(tool, own)
  }
  return words
}

/** What learning would change by now in contracts that were approved as learned. */
async function driftOf(learning: AgentLearning, running: string | null): Promise<ReadonlyMap<string, string[]>> {
  if (running === null) return new Map()
  const learned = learnedFiles(learning)
  if (learned.length === 0) return new Map()
  const files = learned.map(({ file, text }) => ({ file, text }))
  return findDrift({ files, running })
}
