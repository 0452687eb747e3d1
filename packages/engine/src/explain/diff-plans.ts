import type { CompiledContract, CompiledSession } from '@countersign/protocol'
import { Comparison } from './comparison.js'
import { diffContracts, type Risk, riskOf } from './diff-contracts.js'
import { diffSessions } from './diff-sessions.js'
import type { PlanChange } from './plan-change.js'
import { same } from './rule-strength.js'

/**
 * What becomes allowed or blocked if one plan replaces another, decided by what the rules mean: a lower bound in place
 * of a higher one blocks more, whatever its line looks like. `before` is null for a first plan: until then nothing was
 * blocked, so it cannot allow more.
 */
export function diffPlans(before: CompiledSession | null, after: CompiledSession): PlanChange[] {
  const old = new Map((before?.contracts ?? []).map((contract) => [contract.tool, contract]))
  const next = new Map(after.contracts.map((contract) => [contract.tool, contract]))
  const risks = { was: before?.session.risk_defaults ?? {}, is: after.session.risk_defaults ?? {} }
  const comparison = new Comparison()
  const changes: PlanChange[] = []
  for (const tool of [...new Set([...old.keys(), ...next.keys()])].sort()) {
    const was = old.get(tool)
    const is = next.get(tool)
    if (is === undefined) changes.push({ tool, effect: 'blocks', text: `${tool} no longer has a contract` })
    else if (was === undefined) changes.push(newContract(is, { isFirst: before === null, risk: riskOf(is, risks.is) }))
    else for (const change of diffContracts(was, is, risks, comparison)) changes.push(change)
  }
  return [
    ...changes,
    ...diffProof(before === null ? [] : wantingProof(before), wantingProof(after)),
    ...diffSessions(before === null ? null : before.session, after.session, comparison),
  ]
}

/** Who asks for a proven principal. One contract that does asks for all of the session. */
const wantingProof = ({ session, contracts }: CompiledSession): string[] => [
  ...(session.principal === undefined ? [] : ['session.yaml']),
  ...contracts.filter(({ principal }) => principal !== undefined).map(({ tool }) => tool),
]

function diffProof(was: readonly string[], is: readonly string[]): PlanChange[] {
  if (same(was, is)) return []
  if (is.length === 0) {
    return [{ tool: null, effect: 'allows', text: 'no token needs to prove for whom a session acts' }]
  }
  const effect = was.length === 0 ? 'blocks' : 'changes'
  return [{ tool: null, effect, text: `a token must prove for whom a session acts: ${is.join(', ')} asks for it` }]
}

/** Beside other contracts a tool without one is blocked; before the first plan nothing is. */
const newContract = (
  { tool }: CompiledContract,
  { isFirst, risk }: { readonly isFirst: boolean; readonly risk: Risk },
): PlanChange =>
  risk === 'block'
    ? { tool, effect: 'blocks', text: `${tool} has a contract that blocks every call` }
    : isFirst
      ? { tool, effect: 'blocks', text: `${tool} has its first contract: calls that break it are blocked` }
      : { tool, effect: 'allows', text: `${tool} has a contract now` }
