import { type CompiledContract, LIMITS, labelOf } from '@countersign/protocol'
import type { Provision } from '../contract/plan.js'
import { mostVersions } from '../contract/tool-version.js'
import type { Report } from './report/problem.js'

/** What the contracts of a plan may have together, because a session keeps it or a proposal repeats it. */
export function checkCounts(
  contracts: readonly CompiledContract[],
  provisions: ReadonlyMap<string, ReadonlyMap<string, Provision>>,
  report: Report,
): void {
  const terms = countTerms(provisions)
  if (terms > LIMITS.termsPerPlan) {
    const message = `the preconditions have ${terms} different terms; the limit is ${LIMITS.termsPerPlan}`
    report([], message, 'require the same of an earlier call in more contracts')
  }
  const { name, versions } = mostVersions(contracts.map(({ tool }) => tool))
  if (versions > LIMITS.versionsPerTool) {
    const message = `${versions} contracts are for versions of the tool "${name}"; the limit is ${LIMITS.versionsPerTool}`
    report([], message, 'remove the contracts for versions that you do not offer')
  }
  const labels = new Set(contracts.flatMap((contract) => (contract.labels?.adds ?? []).map(labelOf))).size
  if (labels > LIMITS.labelsPerSession) {
    const message = `the contracts add ${labels} different labels; the limit is ${LIMITS.labelsPerSession}`
    report([], message, 'use the same label in more contracts')
  }
}

/** Those that name a tool alone have no terms: any call of it will do. */
function countTerms(provisions: ReadonlyMap<string, ReadonlyMap<string, Provision>>): number {
  let count = 0
  for (const [tool, known] of provisions) count += known.size - (known.has(tool) ? 1 : 0)
  return count
}
