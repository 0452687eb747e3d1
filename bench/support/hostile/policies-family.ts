import type { Family } from '../../../test/support/hostile/request.js'
import { callsOf, FIXED, gene, many, oneOf, TOOL, VALUES } from '../../../test/support/hostile/values.js'

/** Policies that look at every item, name many things, or are long in one way. */
const POLICIES: readonly ((terms: number) => string)[] = [
  (terms) =>
    `permit(principal,action,resource) when { ${many(terms, (at) => `context.arguments.w == ${at}`).join(' || ')} };`,
  (terms) =>
    `permit(principal,action,resource) when { ${many(terms, () => 'context.arguments.w == 1').join(' && ')} };`,
  (terms) =>
    many(terms, (at) => `forbid(principal,action,resource) when { context.arguments.w == ${at + 2} };`).join('\n') +
    'permit(principal,action,resource);',
  (terms) =>
    `permit(principal,action,resource) when { context.arguments.v.containsAll([${many(terms, (at) => at).join(',')}]) };`,
  (terms) =>
    many(terms, () => 'forbid(principal,action,resource) when { context.arguments.v.contains(7) };').join('\n') +
    'permit(principal,action,resource);',
  (terms) => `permit(principal,action,resource) ${many(terms, () => 'when { context.arguments.w == 1 }').join(' ')};`,
  (terms) =>
    many(terms, () => 'forbid(principal,action,resource) when { context.arguments.v like "*a*a*a*a*b" };').join('\n') +
    'permit(principal,action,resource);',
]

export const policies: Family = {
  name: 'policies',
  genes: {
    policy: [0, POLICIES.length - 1],
    value: [0, VALUES.length - 1],
    terms: [1, 700],
    size: [1, 64_000],
    calls: [1, 24],
  },
  build: (genes) => ({
    contracts: [{ tool: TOOL, ...FIXED, policy: { cedar: oneOf(POLICIES, genes.policy)(gene(genes, 'terms')) } }],
    calls: callsOf(genes),
    principal: { id: 'p' },
  }),
}
