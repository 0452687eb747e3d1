import { describeContract, diffPlans, draftNotes, type Steps, writeContract } from '@countersign/engine'
import {
  type CompiledSession,
  type ContractRow,
  confidenceOf,
  type Input,
  type Reply,
  type Routes,
  type SourceRule,
} from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { UserContext } from '../context/context.js'
import { inTurns } from '../context/work.js'
import { listLearnedAgents } from '../store/captures/learned-tools.js'
import { findApprovedPlans } from '../store/governance/plans.js'
import { type AgentLearning, learnedDrafts } from './learned-drafts.js'
import { learnedFiles } from './pack-of.js'
import { readPack } from './read-pack.js'

/** Contracts as learned or written, with how far each can be trusted and what drifted since its approval. */
export async function listContracts(
  ctx: UserContext,
  { query }: Input<Routes['listContracts']>,
): Promise<Reply<Routes['listContracts']>> {
  const agents = await listLearnedAgents(ctx.app.database.sql, ctx.tenant.tenantId, query.agent ?? null)
  const contracts: ContractRow[] = []
  for (const { agent } of agents) {
    const learning = await learnedDrafts(ctx, agent)
    if (learning !== null) contracts.push(...(await rowsOf(ctx, learning)))
  }
  return { contracts }
}

async function rowsOf(ctx: UserContext, learning: AgentLearning): Promise<ContractRow[]> {
  const running = await findApprovedPlans(ctx.app.database.sql, ctx.tenant.tenantId, learning.agent)
  const approved = new Set(running.flatMap(({ contracts }) => contracts.map(({ tool }) => tool)))
  const drift = await driftOf(ctx, learning, running[0] ?? null)
  const words = await wordsOfWritten(ctx, learning)
  const now = ctx.app.clock()
  return inTurns(ctx, rowsInSteps(learning, { approved, drift, words, now }))
}

interface Beside {
  readonly approved: ReadonlySet<string>
  readonly drift: ReadonlyMap<string, string[]>
  readonly words: ReadonlyMap<string, string[]>
  readonly now: Date
}

function* rowsInSteps(learning: AgentLearning, { approved, drift, words, now }: Beside): Steps<ContractRow[]> {
  const rows: ContractRow[] = []
  for (const draft of learning.drafts) {
    const { tool } = draft.contract
    const written = learning.written.get(tool)
    const known = learning.tools.get(tool)
    rows.push({
      agent: learning.agent,
      tool_name: tool,
      source: written === undefined ? 'inferred' : 'customer',
      confidence: confidenceOf(draft.samples),
      samples: draft.samples,
      unjudged: Math.max(draft.samples - (known?.passed ?? 0), 0),
      sessions: known?.sessions ?? 0,
      false_block_bound: draft.samples > 0 ? draft.falseBlockBound : null,
      pass_rate: known === undefined || known.judged === 0 ? null : known.passed / known.judged,
      approved: approved.has(tool),
      drift: drift.get(tool) ?? [],
      words: words.get(tool) ?? describeContract(draft.contract),
      notes: written === undefined ? draftNotes(draft) : [],
      yaml: written?.text ?? writeContract(draft).text,
      updated_at: (known?.updatedAt ?? now).toISOString(),
    })
    yield
  }
  return rows
}

/** Contracts that people wrote, in words. One that does not compile by itself has none. */
async function wordsOfWritten(ctx: UserContext, { written }: AgentLearning): Promise<Map<string, string[]>> {
  const words = new Map<string, string[]>()
  for (const [tool, file] of written) {
    const compiled = await readPack(ctx, [file]).catch(() => null)
    const contract = compiled?.compiled_session.contracts[0]
    if (contract !== undefined) words.set(tool, describeContract(contract))
  }
  return words
}

/** A running plan as it would have been drafted without measuring itself: what it measured is no drift. */
function unmeasured(plan: CompiledSession): CompiledSession {
  const contracts = plan.contracts.map(({ surprise: _, sources, ...contract }) => ({
    ...contract,
    ...(sources !== undefined && { sources: sources.map(asking) }),
  }))
  return { ...plan, contracts }
}

function asking(rule: SourceRule): SourceRule {
  const { dictated, quoted, invented } = rule
  return {
    ...rule,
    otherwise: 'ask',
    ...(dictated !== undefined && { dictated: 'ask' }),
    ...(quoted !== undefined && { quoted: 'ask' }),
    ...(invented !== undefined && { invented: 'ask' }),
  }
}

/** What learning would change by now in contracts that were approved as learned. */
async function driftOf(
  ctx: UserContext,
  learning: AgentLearning,
  running: Parameters<typeof diffPlans>[0],
): Promise<Map<string, string[]>> {
  const drift = new Map<string, string[]>()
  if (running === null) return drift
  const files = await inTurns(ctx, learnedFiles(learning))
  if (files.length === 0) return drift
  const pack = await readPack(ctx, files).catch((error) => {
    // For example more than a plan may hold: contracts are still listed, and drafting a plan says what is wrong.
    if (error instanceof ApiError) return null
    throw error
  })
  if (pack === null) return drift
  const { compiled_session } = pack
  for (const { tool, text } of diffPlans(unmeasured(running), compiled_session)) {
    if (tool === null || learning.written.has(tool)) continue
    drift.set(tool, [...(drift.get(tool) ?? []), text])
  }
  return drift
}
