import type { BlockReason } from '@countersign/protocol'
import type { Answer } from '../../api/api.js'
import { reasonTitle } from '../../text/reasons.js'

type Overview = Answer<'loadOverview'>

export interface DecisionSeries {
  readonly key: string
  readonly label: string
  readonly color: string
  readonly total: number
  readonly reason: BlockReason | null
  readonly values: readonly number[]
}

const COLORS = ['--plot-1', '--plot-2', '--plot-3', '--plot-4'] as const

/** The series from bottom to top: the most frequent reasons, all others together, then allowed calls. */
export function decisionSeries({ spans, reasons, totals }: Overview): DecisionSeries[] {
  const named = [...reasons].sort((a, b) => b.count - a.count).slice(0, COLORS.length)
  const blocked = named.map(
    ({ reason, count }, index): DecisionSeries => ({
      key: reason,
      label: reasonTitle(reason),
      color: COLORS[index] ?? '--plot-other',
      total: count,
      reason,
      values: spans.map((span) => span.by_reason[reason] ?? 0),
    }),
  )
  const others = spans.map((span, at) =>
    Math.max(0, span.blocked - blocked.reduce((sum, series) => sum + (series.values[at] ?? 0), 0)),
  )
  const otherTotal = others.reduce((sum, value) => sum + value, 0)
  const rest: DecisionSeries = {
    key: 'other',
    label: 'Other reasons',
    color: '--plot-other',
    total: otherTotal,
    reason: null,
    values: others,
  }
  const allowed: DecisionSeries = {
    key: 'allowed',
    label: 'Allowed',
    color: '--plot-allow',
    total: totals.allowed,
    reason: null,
    values: spans.map((span) => span.allowed),
  }
  return [...blocked, ...(otherTotal > 0 ? [rest] : []), allowed]
}
