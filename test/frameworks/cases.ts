import type { Contract } from '@countersign/protocol'
import type { Case } from './story.js'

const look: Contract = { tool: 'look', side_effect: 'read' }
const pay: Contract = {
  tool: 'pay',
  side_effect: 'write',
  commit_requirement: 'executed',
  argument_value_invariants: [{ path: '$.amount', lte: 100 }],
}
const ask: Contract = { tool: 'ask', side_effect: 'read' }
const LIMIT = 'amount'
const BOTH = ['look', 'pay']
const call = (id: string, name: string, args = {}) => ({ id, name, args })
const DONE = { text: 'done' }

/** What every way to govern a program must do alike. */
export const CASES: readonly Case[] = [
  {
    id: 'hidden',
    name: 'a tool that the model was not offered does not run when the model calls it',
    contracts: [look, { ...pay, preconditions: [{ requires_prior_tool: 'look' }] }],
    turns: [{ calls: [call('c1', 'pay', { amount: 5 })] }, { calls: [call('c2', 'look')] }, DONE],
    expected: {
      offered: [['look'], ['look'], BOTH],
      ran: ['look {}'],
      told: { c1: 'look' },
      ledger: ['proposed c1 pay block precondition_not_met', 'proposed c2 look allow', 'receipt c2 succeeded executed'],
    },
  },
  ...[false, true].map(
    (stream): Case => ({
      id: stream ? 'mixed-stream' : 'mixed',
      name: `of two calls in one ${stream ? 'stream' : 'answer'}, the allowed one runs, and the model reads why the other did not`,
      contracts: [look, pay],
      stream,
      turns: [{ calls: [call('c1', 'pay', { amount: 500 }), call('c2', 'look')] }, DONE],
      expected: {
        offered: [BOTH, BOTH],
        ran: ['look {}'],
        told: { c1: LIMIT },
        ledger: [
          'proposed c1 pay block argument_value_mismatch',
          'proposed c2 look allow',
          'receipt c2 succeeded executed',
        ],
      },
    }),
  ),
  {
    id: 'receipts',
    name: 'each run leaves one receipt, a failed one too, and a blocked call leaves none',
    contracts: [look, pay],
    failing: ['look'],
    turns: [
      { calls: [call('c1', 'look'), call('c2', 'pay', { amount: 5 })] },
      { calls: [call('c3', 'pay', { amount: 500 })] },
      DONE,
    ],
    expected: {
      offered: [BOTH, BOTH, BOTH],
      ran: ['look {}', 'pay {"amount":5}'],
      told: { c3: LIMIT },
      ledger: [
        'proposed c1 look allow',
        'proposed c2 pay allow',
        'receipt c1 failed executed',
        'receipt c2 succeeded executed',
        'proposed c3 pay block argument_value_mismatch',
      ],
    },
  },
  {
    id: 'reused-id',
    name: 'an id that the model uses again stands for the later call, whose verdict is its own',
    contracts: [look, pay],
    turns: [
      { calls: [call('c1', 'pay', { amount: 5 })] },
      { calls: [call('c1', 'pay', { amount: 500 })] },
      { calls: [call('c1', 'look')] },
      DONE,
    ],
    expected: {
      offered: [BOTH, BOTH, BOTH, BOTH],
      ran: ['pay {"amount":5}', 'look {}'],
      told: {},
      ledger: [
        'proposed c1 pay allow',
        'receipt c1 succeeded executed',
        'proposed c1 pay block argument_value_mismatch',
        'proposed c1 look allow',
        'receipt c1 succeeded executed',
      ],
    },
  },
  {
    id: 'nothing-returned',
    name: 'a tool that returns nothing has run',
    contracts: [look, pay],
    silent: ['look'],
    turns: [{ calls: [call('c1', 'look')] }, DONE],
    expected: {
      offered: [BOTH, BOTH],
      ran: ['look {}'],
      told: {},
      ledger: ['proposed c1 look allow', 'receipt c1 succeeded executed'],
    },
  },
  {
    id: 'hanging',
    name: 'a tool that hangs is given up after the time of its contract, and its outcome is unknown',
    contracts: [{ ...look, timeouts: { total_ms: 20 } }, pay],
    hanging: ['look'],
    turns: [{ calls: [call('c1', 'look'), call('c2', 'pay', { amount: 5 })] }, DONE],
    expected: {
      offered: [BOTH, BOTH],
      ran: ['look {}', 'pay {"amount":5}'],
      told: {},
      ledger: [
        'proposed c1 look allow',
        'proposed c2 pay allow',
        'receipt c1 unknown executed',
        'receipt c2 succeeded executed',
      ],
    },
  },
  {
    id: 'runs-at-once',
    name: 'of two runs at once, each gets its own verdicts and leaves its own receipts',
    contracts: [look, pay],
    runs: 2,
    turns: [
      { calls: [call('c1', 'pay', { amount: 5 })] },
      { calls: [call('c2', 'pay', { amount: 500 }), call('c3', 'look')] },
      DONE,
      DONE,
    ],
    expected: {
      offered: [BOTH, BOTH, BOTH, BOTH],
      ran: ['pay {"amount":5}', 'look {}'],
      told: { c2: LIMIT },
      ledger: [
        'proposed c1 pay allow',
        'receipt c1 succeeded executed',
        'proposed c2 pay block argument_value_mismatch',
        'proposed c3 look allow',
        'receipt c3 succeeded executed',
      ],
    },
  },
  {
    id: 'lost',
    name: 'a run of which the process told nobody is unknown, never succeeded',
    contracts: [look, pay],
    diesAfterRun: true,
    turns: [{ calls: [call('c1', 'pay', { amount: 5 })] }, DONE],
    expected: {
      offered: [BOTH],
      ran: ['pay {"amount":5}'],
      told: {},
      ledger: ['proposed c1 pay allow', 'recovered', 'receipt c1 unknown reported'],
    },
  },
  {
    id: 'sub-agent',
    name: 'an agent that a tool runs is a session of the workflow, with the tools of its role',
    contracts: [ask, pay],
    turns: [{ calls: [call('c1', 'ask')] }, DONE],
    subAgent: {
      turns: [{ calls: [call('s1', 'pay', { amount: 5 }), call('s2', 'pay', { amount: 500 })] }, DONE],
      ledger: [
        'proposed s1 pay allow',
        'proposed s2 pay block argument_value_mismatch',
        'receipt s1 succeeded executed',
        'handoff_completed',
      ],
    },
    expected: {
      offered: [['ask'], ['ask']],
      ran: ['pay {"amount":5}'],
      told: {},
      ledger: [
        'proposed c1 ask allow',
        'handoff_offered',
        'handoff_accepted',
        'handoff_completed',
        'receipt c1 succeeded executed',
      ],
    },
  },
  {
    id: 'down',
    name: 'nothing runs while the server is down',
    contracts: [look, pay],
    serverIsDown: true,
    turns: [{ calls: [call('c1', 'look')] }, DONE],
    expected: { offered: [], ran: [], told: {}, ledger: [] },
  },
  {
    id: 'retry',
    name: 'a model call that is tried again is one turn',
    contracts: [look, pay],
    turns: [{ calls: [call('c1', 'look')], failures: 1 }, DONE],
    expected: {
      offered: [BOTH, BOTH, BOTH],
      ran: ['look {}'],
      told: {},
      ledger: ['proposed c1 look allow', 'receipt c1 succeeded executed'],
    },
  },
  {
    id: 'approval',
    name: 'an approval holds for the arguments that were shown, and for no others',
    contracts: [look, { ...pay, checkpoint: { when: [{ path: '$.amount', gt: 50 }], reason: 'large payment' } }],
    changed: { c2: { amount: 61 } },
    turns: [{ calls: [call('c1', 'pay', { amount: 60 })] }, { calls: [call('c2', 'pay', { amount: 60 })] }, DONE],
    expected: {
      offered: [BOTH, BOTH, BOTH],
      ran: ['pay {"amount":60}'],
      told: {},
      ledger: [
        'proposed c1 pay allow',
        'receipt c1 succeeded executed approve',
        'proposed c2 pay allow',
        'receipt c2 not_executed reported approve',
      ],
    },
  },
  {
    id: 'changed-in-place',
    name: 'arguments that the program changes in the object it was given do not run, and a new call of the model does',
    contracts: [look, pay],
    changedInPlace: { c1: { amount: 900 }, c2: { amount: 90 } },
    turns: [
      { calls: [call('c1', 'pay', { amount: 10 })] },
      { calls: [call('c2', 'pay', { amount: 20 }), call('c3', 'pay', { amount: 30 })] },
      DONE,
    ],
    expected: {
      offered: [BOTH, BOTH, BOTH],
      ran: ['pay {"amount":30}'],
      told: { c1: LIMIT, c2: LIMIT },
      ledger: [
        'proposed c1 pay allow',
        'receipt c1 not_executed reported',
        'proposed c2 pay allow',
        'proposed c3 pay allow',
        'receipt c2 not_executed reported',
        'receipt c3 succeeded executed',
      ],
    },
  },
  {
    id: 'parallel',
    name: 'parallel calls cannot together pass a limit of one',
    contracts: [look, { ...pay, aggregates: [{ name: 'paid', path: '$.amount', function: 'sum', lte: 5 }] }],
    turns: [{ calls: [call('c1', 'pay', { amount: 5 }), call('c2', 'pay', { amount: 5 })] }, DONE],
    expected: {
      offered: [BOTH, BOTH],
      ran: ['pay {"amount":5}'],
      told: { c2: '' },
      ledger: [
        'proposed c1 pay allow',
        'proposed c2 pay block aggregate_limit_exceeded',
        'receipt c1 succeeded executed',
      ],
    },
  },
]
