import type { RunReport } from '@countersign/protocol'
import { count, plural } from '../../text/format.js'

/** How many sessions would change. The list of them is cut, the number is not. */
export const changedSessions = ({ sessions, sessions_passed }: RunReport): number => sessions - sessions_passed

/** The heading of the list, and what it leaves out; null where it holds all. */
export function divergenceWords(report: RunReport): { title: string; cut: string | null } {
  const changed = changedSessions(report)
  const listed = report.divergences.length
  return {
    title: `${plural(changed, 'session')} would change, first here`,
    cut: listed < changed ? `The list shows ${count(listed)} of ${count(changed)}.` : null,
  }
}
