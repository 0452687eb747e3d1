import type { Contract, SessionDefinition } from '@countersign/protocol'
import { describe, expect } from 'vitest'
import type { RequirementId } from '../requirements.js'
import type { CaseCall, ExpectedDecision, TurnStep } from '../support/cases/cases.js'
import { runCaseOnEngine } from '../support/cases/run-case.js'
import { proves } from '../support/proves.js'

/** A key of the contract language, at work: what it blocks, what it lets pass, and that without it nothing is blocked. */
interface KeyAtWork {
  readonly says: string
  readonly contracts: readonly Contract[]
  readonly session?: SessionDefinition
  /** Turns before, all of which are allowed and succeed. */
  readonly before?: readonly Done[]
  readonly blocks: CaseCall
  readonly reason: Exclude<ExpectedDecision, 'allow' | 'ask' | object>
  /** A call that differs only in what the key looks at; or the turns before it do. */
  readonly passes: { readonly call: CaseCall; readonly before?: readonly Done[] }
  /** The same rules without the key, or with another value of it. */
  readonly without: { readonly contracts?: readonly Contract[]; readonly session?: SessionDefinition }
}

interface Done {
  readonly call: CaseCall
  readonly result?: object
}

const read = (tool: string, more: Partial<Contract> = {}): Contract => ({ tool, side_effect: 'read', ...more })
const PHASES: SessionDefinition = {
  phases: [{ name: 'triage', initial: true }, { name: 'resolving' }, { name: 'closed', terminal: true }],
  transitions: { triage: ['resolving'], resolving: ['closed'] },
}
const advances = read('resolve', { transitions: { valid_in_phases: ['triage'], advances_to: 'resolving' } })
const pay = (amount: number): CaseCall => ({ tool: 'pay', args: { amount } })

const LANGUAGE = {
  'contract.output-invariants': {
    says: 'an output invariant blocks a response whose value at its path fails the comparison',
    contracts: [
      read('pay', { assertions: { output_invariants: [{ path: '$.tool_calls[0].arguments.amount', lte: 10 }] } }),
    ],
    blocks: pay(11),
    reason: 'output_invariant_failed',
    passes: { call: pay(10) },
    without: { contracts: [read('pay')] },
  },
  'contract.phases': {
    says: 'a tool of another phase than the one declared as initial is blocked until a tool leads there',
    contracts: [advances, read('refund', { transitions: { valid_in_phases: ['resolving'] } })],
    session: PHASES,
    blocks: { tool: 'refund' },
    reason: 'illegal_phase_transition',
    passes: { call: { tool: 'refund' }, before: [{ call: { tool: 'resolve' } }] },
    without: {
      session: {
        phases: [{ name: 'resolving', initial: true }, { name: 'triage' }, { name: 'closed', terminal: true }],
        transitions: { triage: ['resolving'], resolving: ['closed', 'triage'] },
      },
    },
  },
  'contract.transitions': {
    says: 'a tool that leads to a phase which the transitions do not name is blocked',
    contracts: [advances, read('close', { transitions: { advances_to: 'closed' } })],
    session: PHASES,
    blocks: { tool: 'close' },
    reason: 'illegal_phase_transition',
    passes: { call: { tool: 'close' }, before: [{ call: { tool: 'resolve' } }] },
    without: { session: { ...PHASES, transitions: { triage: ['resolving', 'closed'], resolving: ['closed'] } } },
  },
  'contract.preconditions': {
    says: 'a tool that demands an earlier one is blocked until that has committed',
    contracts: [read('refund', { preconditions: [{ requires_prior_tool: 'verify' }] }), read('verify'), read('note')],
    before: [{ call: { tool: 'note' } }],
    blocks: { tool: 'refund' },
    reason: 'precondition_not_met',
    passes: { call: { tool: 'refund' }, before: [{ call: { tool: 'verify' } }] },
    without: { contracts: [read('refund'), read('verify'), read('note')] },
  },
  'contract.forbids-after': {
    says: 'a tool that another one forbids is blocked after that has been called',
    contracts: [read('close', { forbids_after: ['refund'] }), read('refund'), read('note')],
    before: [{ call: { tool: 'close' } }],
    blocks: { tool: 'refund' },
    reason: 'forbidden_tool',
    passes: { call: { tool: 'refund' }, before: [{ call: { tool: 'note' } }] },
    without: { contracts: [read('close'), read('refund'), read('note')] },
  },
  'contract.risk-defaults': {
    says: 'the pack says what happens to a class of side effects',
    contracts: [{ tool: 'save', side_effect: 'write' }, read('look')],
    session: { risk_defaults: { write: 'block' } },
    blocks: { tool: 'save' },
    reason: 'risk_gate_blocked',
    passes: { call: { tool: 'look' } },
    without: { session: { risk_defaults: { write: 'allow' } } },
  },
  'contract.side-effect': {
    says: 'the class that a contract gives its tool decides which default it meets',
    contracts: [{ tool: 'save', side_effect: 'destructive' }, read('look')],
    session: { risk_defaults: { write: 'allow', destructive: 'block' } },
    blocks: { tool: 'save' },
    reason: 'risk_gate_blocked',
    passes: { call: { tool: 'look' } },
    without: { contracts: [{ tool: 'save', side_effect: 'write' }, read('look')] },
  },
  'contract.aggregates': {
    says: 'a sum over the session stays within its bound',
    contracts: [read('pay', { aggregates: [{ name: 'paid', path: '$.amount', function: 'sum', lte: 100 }] })],
    before: [{ call: pay(60) }],
    blocks: pay(41),
    reason: 'aggregate_limit_exceeded',
    passes: { call: pay(40), before: [{ call: pay(60) }] },
    without: { contracts: [read('pay')] },
  },
  'contract.envelopes': {
    says: 'a value stays within the reference value that another tool has established',
    contracts: [
      read('quote', { establishes: [{ name: 'price', from: 'output', path: '$.price' }] }),
      read('pay', { envelopes: [{ name: 'price', path: '$.amount', direction: 'at_most', tolerance_percent: 0 }] }),
    ],
    before: [{ call: { tool: 'quote' }, result: { price: 50 } }],
    blocks: pay(51),
    reason: 'envelope_violation',
    passes: { call: pay(50), before: [{ call: { tool: 'quote' }, result: { price: 50 } }] },
    without: {
      contracts: [read('quote', { establishes: [{ name: 'price', from: 'output', path: '$.price' }] }), read('pay')],
    },
  },
  'contract.refs': {
    says: 'an argument equals what an earlier call has bound',
    contracts: [
      read('find', { binds: [{ name: 'order', from: 'output', path: '$.id' }] }),
      read('refund', { refs: [{ path: '$.order', ref: 'order' }] }),
    ],
    before: [{ call: { tool: 'find' }, result: { id: 'A-1' } }],
    blocks: { tool: 'refund', args: { order: 'A-2' } },
    reason: 'ref_mismatch',
    passes: {
      call: { tool: 'refund', args: { order: 'A-1' } },
      before: [{ call: { tool: 'find' }, result: { id: 'A-1' } }],
    },
    without: {
      contracts: [read('find', { binds: [{ name: 'order', from: 'output', path: '$.id' }] }), read('refund')],
    },
  },
} as const satisfies Partial<Record<RequirementId, KeyAtWork>>

/** The decision on the last call, and its reason. */
function decide(
  rules: Pick<KeyAtWork, 'contracts' | 'session'>,
  before: readonly Done[],
  call: CaseCall,
): { decision: string; reason: string | null } {
  const turn = ({ call: done, result = {} }: Done): TurnStep => ({
    calls: [done],
    expect: ['allow'],
    // biome-ignore lint/suspicious/noThenProperty: the cases' word for what becomes of the calls; nobody awaits a step
    then: [{ outcome: 'succeeded', evidence: 'executed', result: { ...result } }],
  })
  const { turns } = runCaseOnEngine({
    file: 'contract-language',
    name: 'a key at work',
    faces: ['engine'],
    contracts: rules.contracts,
    session: rules.session,
    gate: 'reject_all',
    unmatchedPolicy: 'block',
    principal: undefined,
    labels: [],
    steps: [...before.map(turn), { calls: [call], expect: ['allow'] }],
  })
  expect(turns).toHaveLength(before.length + 1)
  for (const { decisions, committed } of turns.slice(0, -1)) {
    expect([decisions[0]?.decision, committed]).toEqual(['allow', true])
  }
  const [last] = turns.at(-1)?.decisions ?? []
  return { decision: last?.decision ?? 'none', reason: last?.reasons[0]?.reason ?? null }
}

describe('the contract language', () => {
  for (const [fact, key] of Object.entries(LANGUAGE) as [keyof typeof LANGUAGE, KeyAtWork][]) {
    proves(fact, key.says, () => {
      const { before = [], blocks, passes, without } = key
      expect(decide(key, before, blocks)).toEqual({ decision: 'block', reason: key.reason })
      expect(decide(key, passes.before ?? [], passes.call)).toEqual({ decision: 'allow', reason: null })
      // The key alone makes the difference.
      expect(decide({ ...key, ...without }, before, blocks)).toEqual({ decision: 'allow', reason: null })
    })
  }
})
