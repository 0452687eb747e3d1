import type { AgentCount } from '../../store/dashboard/decision-counts.js'

/** Captured calls that no session of the service decided, and those of them that the program held to a contract. */
interface CapturedCalls {
  readonly calls: number
  readonly covered: number
}

/**
 * The share of an agent's proposed calls that were under a contract in force: that of an approved plan, or of the pack that a
 * session or a program brought. Null: it proposed none.
 */
export function coverageOf(decided: readonly AgentCount[], captured: CapturedCalls | undefined): number | null {
  let { calls, covered } = captured ?? { calls: 0, covered: 0 }
  for (const row of decided) {
    calls += row.calls
    covered += row.calls - row.uncovered
  }
  return calls === 0 ? null : covered / calls
}
