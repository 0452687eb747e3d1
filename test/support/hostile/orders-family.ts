import { type Contract, LIMITS } from '@countersign/protocol'
import type { Family, HostileRequest } from './request.js'
import { callsOf, FIXED, gene, many, oneOf, TOOL, VALUES } from './values.js'

/** Rules about the calls before this one, its keys and its phases, which look at few values and may be many. */
const ORDERS: readonly ((count: number) => Pick<HostileRequest, 'contracts' | 'session'>)[] = [
  (count) => ({
    contracts: [
      { tool: TOOL, ...FIXED },
      { tool: 'later', ...FIXED, preconditions: many(count, (at) => requires(TOOL, { as: `$.k${at}` })) },
    ],
  }),
  (count) => ({
    contracts: [
      { tool: TOOL, ...FIXED },
      {
        tool: 'later',
        ...FIXED,
        preconditions: many(count, (at) => ({ ...requires(TOOL, { as: `$.k${at}` }), consumes: true })),
      },
    ],
  }),
  (count) => ({
    contracts: [
      { tool: TOOL, ...FIXED, preconditions: many(count, (at) => requires('earlier', { as: `$.k${at}` })) },
      { tool: 'earlier', ...FIXED },
    ],
  }),
  (count) => ({
    contracts: [{ tool: TOOL, ...FIXED, preconditions: many(count, () => ({ requires_step_count: { gte: 1 } })) }],
  }),
  (count) => ({ contracts: [{ tool: TOOL, ...FIXED, resources: many(count, (at) => ({ key: `r${at}:{$.w}` })) }] }),
  (count) => ({
    contracts: [
      {
        tool: TOOL,
        ...FIXED,
        labels: { adds: many(count % 100, (at) => `l${at}`), deny_when: many(count, (at) => `d${at}`) },
      },
    ],
  }),
  (count) => ({
    contracts: [
      { tool: TOOL, ...FIXED, forbids_after: many(count % 400, (at) => `t${at}`) },
      ...many(count % 400, (at): Contract => ({ tool: `t${at}`, ...FIXED, forbids_after: [TOOL] })),
    ],
  }),
  (count) => ({
    contracts: [{ tool: TOOL, ...FIXED, transitions: { valid_in_phases: many(count, (at) => `p${at}`) } }],
    session: {
      phases: many(count + 1, (at) => ({ name: `p${at}`, initial: at === 0, terminal: at === count })).slice(
        0,
        count + 1,
      ),
      transitions: Object.fromEntries(many(count, (at) => [`p${at}`, [`p${at + 1}`]])),
    },
  }),
  (count) => ({
    contracts: [
      {
        tool: TOOL,
        ...FIXED,
        aggregates: many(count, (at) => ({ name: `n${at}`, function: 'count' as const, lte: 1e9, key: '$.w' })),
      },
    ],
  }),
]

const requires = (tool: string, { as }: { readonly as: string }) => ({
  requires_prior_tool: tool,
  same: [{ path: '$.w', as }],
})

export const orders: Family = {
  name: 'orders',
  genes: {
    order: [0, ORDERS.length - 1],
    count: [1, LIMITS.entriesPerList - 1],
    size: [1, 64_000],
    value: [0, VALUES.length - 1],
    calls: [1, 24],
  },
  build: (genes) => ({ ...oneOf(ORDERS, genes.order)(gene(genes, 'count')), calls: callsOf(genes) }),
}
