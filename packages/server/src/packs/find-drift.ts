import { diffPlans } from '@countersign/engine'
import type { CompiledSession, SourceRule } from '@countersign/protocol'
import type { PackAndPlan } from '../context/tasks.js'
import { compilePack } from './compile-pack.js'

/** What learning would change by now in a plan that was approved as learned, by tool. */
export async function findDrift({ files, running }: PackAndPlan): Promise<Map<string, string[]>> {
  const drift = new Map<string, string[]>()
  const pack = await compilePack(files)
  // For example more than a plan may hold: contracts are still listed, and drafting a plan says what is wrong.
  if (!pack.ok) return drift
  const learned = JSON.parse(pack.compiled) as CompiledSession
  for (const { tool, text } of diffPlans(unmeasured(JSON.parse(running) as CompiledSession), learned)) {
    if (tool !== null) drift.set(tool, [...(drift.get(tool) ?? []), text])
  }
  return drift
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
