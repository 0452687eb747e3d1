import { type Contract, LIMITS } from '@countersign/protocol'
import type { Family } from '../../../test/support/hostile/request.js'
import { callsOf, FIXED, gene, many, oneOf, TOOL, VALUES } from '../../../test/support/hostile/values.js'
import { policies } from './policies-family.js'
import { rules } from './rules-family.js'
import { schemas } from './schemas-family.js'
import { texts } from './texts-family.js'

const sources: Family = {
  name: 'sources',
  genes: {
    rules: [1, LIMITS.entriesPerList],
    from: [1, 256],
    known: [0, 1_024],
    leaves: [1, 256],
    tokens: [0, 64],
    size: [1, 64_000],
    value: [0, VALUES.length - 1],
    calls: [1, 24],
  },
  build: (genes) => {
    const calls = callsOf(genes)
    const hash = (at: number) => at.toString(16).padStart(64, '0')
    const from = many(gene(genes, 'from'), (at) => ({
      result: `tool_${at}`,
      path: '$.items[*].id',
      as: 'line' as const,
    }))
    const known = { salt: 's', hashes: many(gene(genes, 'known'), hash) }
    const seen = many(12, (at) => ({ seen: 'line' as const, tool: `other_${at}`, path: '$.items[*].id' }))
    const tokens = Array.from({ length: gene(genes, 'tokens') }, () => ({ kind: 'id' as const, sources: seen }))
    const paths = ['$.v', '$.v[*]', '$.v[*].a', '$.*', '$.v.*']
    return {
      contracts: [
        {
          tool: TOOL,
          ...FIXED,
          sources: many(gene(genes, 'rules'), (at) => ({
            path: oneOf(paths, at),
            from: [...from, 'known' as const],
            known,
          })),
        },
      ],
      calls,
      flows: {
        calls: calls.map((_, index) => ({
          call_id: `c${index}`,
          tool: TOOL,
          leaves: many(gene(genes, 'leaves'), () => ({
            path: '$.v[*]',
            kind: 'prose' as const,
            sources: seen,
            tokens,
          })),
          prior_tools: [],
          prior_calls: 0,
        })),
      },
    }
  },
}

/** Plans that are expensive before anything is judged. */
const PIECES: readonly ((at: number) => Partial<Contract>)[] = [
  (at) => ({ argument_value_invariants: [{ path: '$.a', regex: `[ab]{1,${(at % 900) + 1}}c` }] }),
  (at) => ({ argument_value_invariants: many(20, (row) => ({ path: `$.a${row}[?@.b==${at}]`, exists: true })) }),
  (at) => ({
    arguments: {
      properties: Object.fromEntries(many(200, (row) => [`p${row}`, { type: 'string', maxLength: at + 1 }])),
    },
  }),
  (at) => ({ arguments: { anyOf: many(200, (row) => ({ required: [`p${row}_${at}`] })) } }),
  (at) => ({
    policy: {
      cedar: many(30, (row) => `forbid(principal,action,resource) when { context.arguments.a == ${at + row} };`).join(
        '',
      ),
    },
  }),
  (at) => ({ argument_value_invariants: many(40, (row) => ({ path: '$.a', schema: { const: `${at}-${row}` } })) }),
  (at) => ({
    preconditions: many(20, (row) => ({
      requires_prior_tool: `t${(at + row) % 20}`,
      same: [{ path: '$.a', as: `$.b${row}` }],
    })),
  }),
  (at) => ({
    arguments: { patternProperties: Object.fromEntries(many(60, (row) => [`^[a-z]{1,${row + 1}}${at}$`, {}])) },
  }),
]

const plans: Family = {
  name: 'plans',
  genes: { piece: [0, PIECES.length - 1], contracts: [1, 500] },
  build: (genes) => ({
    contracts: many(gene(genes, 'contracts'), (at) => ({
      tool: `t${at}`,
      ...FIXED,
      ...oneOf(PIECES, genes.piece)(at),
    })),
    calls: [{ name: 't0', args: {} }],
    principal: { id: 'p' },
  }),
}

export const FAMILIES: readonly Family[] = [rules, schemas, policies, sources, plans, ...texts]
