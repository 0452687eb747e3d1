import type { CallComparison, Plan } from '@countersign/engine'
import { BLOCK_REASONS, type RunReport } from '@countersign/protocol'
import { storedPath, wordsOf } from '../base/stored-path.js'

/**
 * A report on captured sessions stays when they are erased or past their retention. So it says of a blocked call which
 * rule failed and where, and not what the model wrote there.
 */
export function storedVerdict(verdict: CallComparison, plan: Plan): CallComparison {
  const contract = plan.contracts.get(verdict.tool)
  const reasons = verdict.reasons.map((block) => {
    const places = block.failures.map(({ path, operator }) => `${storedPath(path, contract)} (${operator})`)
    const where = places.length === 0 ? '' : `: ${[...new Set(places)].slice(0, MOST_PLACES).join(', ')}`
    // Where a value was seen before is reported by names alone.
    const isSource = block.detail === 'source'
    const remedy = isSource ? plainNames(block.remedy, contract) : `${BLOCK_REASONS[block.reason].meaning}${where}`
    return { ...block, remedy }
  })
  return { ...verdict, reasons }
}

const MOST_PLACES = 8

/** Paths with only the names that could be a program's: a plain word, or one that the contract knows. */
function plainNames(text: string, contract: Parameters<typeof wordsOf>[0]): string {
  const known = wordsOf(contract)
  return text.replaceAll(QUOTED_NAME, (step, name: string) => (known.has(name) ? step : '.*'))
}

/** `['jane@example.test']`, with what must be escaped in it. */
const QUOTED_NAME = /\['((?:[^'\\]|\\.)*)'\]/g

export function storedReport(report: RunReport, plan: Plan): RunReport {
  return {
    ...report,
    coverage_by_tool: report.coverage_by_tool.map((tool) => {
      const contract = plan.contracts.get(tool.tool_name)
      const paths = new Map<string, (typeof tool.argument_paths)[number]>()
      for (const { path, seen, constrained } of tool.argument_paths) {
        const name = plainNames(path, contract)
        const before = paths.get(name) ?? { path: name, seen: 0, constrained: false }
        const sum = Math.min(tool.calls, before.seen + seen)
        paths.set(name, { path: name, seen: sum, constrained: before.constrained || constrained })
      }
      return { ...tool, argument_paths: [...paths.values()] }
    }),
  }
}
