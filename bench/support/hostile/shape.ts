import { compilePlan } from '@countersign/engine'
import type { HostileRequest } from '../../../test/support/hostile/request.js'
import type { Attacker } from './attacker.js'

/** One way to attack. What it sends is built before anything is measured. */
export interface Shape {
  readonly name: string
  /** How many tenants on the free quota do it together; one unless said. */
  readonly tenants?: number
  /** How long the service works on after the last reply. */
  readonly lingerSeconds?: number
  build(): (attacker: Attacker) => Promise<void>
}

export const FIXED = { side_effect: 'read', gate: 'allow' } as const
export const many = <Item>(count: number, make: (at: number) => Item): Item[] =>
  Array.from({ length: count }, (_, at) => make(at))

/** A plan that cannot be compiled is sent as it is, for the service to refuse. */
export function compiledOf({ contracts, session = {} }: Pick<HostileRequest, 'contracts' | 'session'>) {
  const result = compilePlan({
    contracts: contracts.map((value) => ({ file: `${value.tool}.yaml`, value })),
    session: { file: 'session.yaml', value: session },
  })
  if (result.ok) return { compiled_session: result.compiled_session, compiled_hash: result.compiled_hash }
  const defaults = { evidence_class: 'unverifiable', commit_requirement: 'reported' }
  return {
    compiled_session: {
      plan_version: 1,
      session,
      contracts: contracts.map((contract) => ({ ...defaults, ...contract })),
    },
  }
}
