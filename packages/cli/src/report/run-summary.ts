import type { RunReport } from '@countersign/protocol'

/** How many divergences are printed; the JSON and JUnit outputs have more. */
const MAX_LISTED = 20

/** A report as text, the result first. */
export function summaryOf(report: RunReport): string {
  const uncovered = report.coverage_by_tool.filter(({ covered }) => !covered).map(({ tool_name }) => tool_name)
  const unlisted = report.sessions - report.sessions_passed - Math.min(MAX_LISTED, report.divergences.length)
  const unchecked = uncheckedText(report)
  return [
    `${report.sessions_passed} of ${report.sessions} sessions as expected (${percent(report.pass_rate)})`,
    `${report.calls_blocked} of ${report.calls} calls blocked, ${percent(report.coverage)} covered by contracts`,
    ...(report.newly_allowed + report.newly_blocked === 0
      ? []
      : [`not as expected: ${report.newly_allowed} calls allowed, ${report.newly_blocked} calls blocked`]),
    ...Object.entries(report.would_block).map(([reason, count]) => `  ${reason}: ${count}`),
    ...(uncovered.length > 0 ? [`without a contract: ${uncovered.join(', ')}`] : []),
    ...(unchecked === null ? [] : [unchecked]),
    ...report.divergences.slice(0, MAX_LISTED).flatMap(divergenceLines),
    ...(unlisted > 0 ? [`  and ${unlisted} more sessions`] : []),
  ].join('\n')
}

function divergenceLines(divergence: RunReport['divergences'][number]): string[] {
  const { session, turn, call, tool_name, expected, decision, reasons, remedy } = divergence
  const why = reasons.length > 0 ? ` (${reasons.join(', ')})` : ''
  return [
    `  ${session}: turn ${turn + 1}, call ${call + 1}: ${tool_name} expected ${expected}, was ${decision}${why}`,
    ...(remedy === null ? [] : [`    ${remedy}`]),
  ]
}

/** Null when every rule could be checked. */
export function uncheckedText({ not_judged }: RunReport): string | null {
  const rules = Object.entries(not_judged)
  if (rules.length === 0) return null
  const counts = rules.map(([rule, calls]) => `${rule} of ${calls} ${calls === 1 ? 'call' : 'calls'}`)
  return `not checked, because the data they need is missing: ${counts.join(', ')}`
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`
