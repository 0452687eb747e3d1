import { compilePlan, describeContract } from '@countersign/engine'
import { loadPolicyEvaluator } from '../base/policy.js'
import type { PlanFile } from '../store/governance/governance-plans.js'

/** Each contract in words; null for one that does not compile by itself. */
export async function describePack(files: readonly PlanFile[]): Promise<(readonly string[] | null)[]> {
  const policy = await loadPolicyEvaluator()
  return files.map((file) => {
    const compiled = compilePlan({ contracts: [file] }, { policy })
    const contract = compiled.ok ? compiled.compiled_session.contracts[0] : undefined
    return contract === undefined ? null : describeContract(contract)
  })
}
