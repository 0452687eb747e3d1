import type { Bugs } from './sabotages.js'

/** What contracts mean, how a session's state moves, what is learned. */
export const engineSabotages: Bugs = {
  'packages/engine/src/text/folded-text.ts': [
    {
      breaks: 'guarantee.one-reading',
      from: "const seen = text.replaceAll(UNSEEN, '')",
      to: 'const seen = text',
    },
    { breaks: 'limit.judging.marks', from: 'if (marks.length > MOST_MARKS) return null', to: '' },
  ],
  'packages/engine/src/response/odd-shapes.ts': [
    {
      breaks: 'guarantee.known-shapes',
      from: 'const kept = isDisguised(name)',
      to: 'const kept = isDisguised(name) && name.length > 12',
    },
    {
      breaks: 'guarantee.known-shapes',
      from: "if (kind === 'odd') {",
      to: "if (kind === 'odd' && members.name === undefined) {",
    },
  ],
  'packages/engine/src/judge/rules/call-keys.ts': [
    {
      breaks: 'contract.keys.seen',
      from: 'return text === null || holdsUnseen(text) ? null : text',
      to: 'return text',
    },
  ],
  'packages/engine/src/json/scan-text.ts': [
    {
      breaks: 'guarantee.one-reading',
      from: 'doubtful === null && next - at > SHORT_NUMBER',
      to: 'doubtful === null && next - at > 60',
    },
  ],
  'packages/engine/src/compile/workflow/workflow-problems.ts': [
    { breaks: 'limit.fair.definitions', from: 'tools.get(edge.to) ?? new Set(known)', to: 'new Set(known)' },
  ],
  'packages/engine/src/state/apply-proposal.ts': [
    {
      breaks: 'snapshot.actual-cost',
      from: "  if (body.cost !== '0') {",
      to: "  if (body.cost !== '0' && body.outcome === 'allowed') {",
    },
    { breaks: 'snapshot.total-block-count', from: '    next.totalBlocks += 1\n', to: '' },
    {
      breaks: 'block.loop-detected',
      from: 'return [...state.recent, ...added].slice(-window)',
      to: 'return [...state.recent, ...added].slice(-Math.ceil(window / 2))',
    },
  ],
  'packages/engine/src/contract/components.ts': [
    {
      breaks: 'limit.plan-warnings',
      from: '        followed[node] = (followed[node] as number) + 1\n        if (order[next] === 0) path.push(next)',
      to: '        followed[node] = (followed[node] as number) + 1\n        if (order[next] === 0 && path.length < 10_000) path.push(next)',
    },
  ],
  'packages/engine/src/contract/cedar-text.ts': [
    { breaks: 'limit.policy-size', from: 'const MAX_TOKENS = 4_000', to: 'const MAX_TOKENS = 40_000' },
    { breaks: 'limit.policy-size', from: 'if (wrong !== null) return', to: 'if (wrong === policy) return' },
  ],
  'packages/engine/src/text/regex.ts': [
    { breaks: 'limit.regex-properties', from: 'const MAX_PROPERTIES = 100', to: 'const MAX_PROPERTIES = 2_000' },
  ],
  'packages/engine/src/contract/hours.ts': [
    { breaks: 'limit.memory.bytes', from: 'const name = zone.toLowerCase()', to: 'const name = zone' },
  ],
  'packages/engine/src/json/value-set.ts': [
    {
      breaks: 'limit.judging.colliding-numbers',
      from: '(value: number): string => `n${value}`',
      to: '(value: number): string => value as never',
    },
  ],
  'packages/engine/src/contract/cedar-reads.ts': [
    {
      breaks: 'limit.policy-size',
      from: "if (policy.includes('\\\\')) return",
      to: 'if (/arguments\\s*(?:\\s+has)/.test(policy)) return',
    },
  ],
  'packages/engine/src/text/regex-size.ts': [
    { breaks: 'limit.regex-size', from: "source.startsWith('\\\\Q', at)", to: "source.startsWith('\\\\QQ', at)" },
    { breaks: 'limit.regex-size', from: "char === '(' && flagsEnd(source, at) !== -1", to: "char === ''" },
    {
      breaks: 'limit.regex-size',
      from: 'RANGES_OF_PROPERTY.get(name || letter) ?? MOST_RANGES_OF_PROPERTY',
      to: 'MOST_RANGES_OF_PROPERTY',
    },
    {
      breaks: 'limit.regex-size',
      from: '?? MOST_RANGES_OF_PROPERTY',
      to: '?? 1',
    },
  ],
  'packages/engine/src/json/schema/schema-document.ts': [
    { breaks: 'limit.schema-uris', from: 'MAX_URI_LENGTH = 512', to: 'MAX_URI_LENGTH = 60_000' },
    { breaks: 'limit.schema-uris', from: 'if (uri.length > MAX_URI_LENGTH)', to: 'if (uri.length > 1e9)' },
  ],
  'packages/engine/src/json/schema/json-schema.ts': [
    {
      breaks: 'limit.judging.references',
      from: 'if (followed.count <= MOST_REFERENCES) return isValid',
      to: 'if (followed.count > 0) return isValid',
    },
  ],
  'packages/engine/src/json/schema/compile-document.ts': [
    { breaks: 'limit.judging.references', from: 'MOST_REFERENCES = 100_000', to: 'MOST_REFERENCES = 90_000' },
  ],
  'packages/engine/src/contract/cedar-instance.ts': [
    { breaks: 'limit.policy-memory', from: 'if (total + bytes <= mostBytes) break', to: 'if (kept.size < 256) break' },
    { breaks: 'isolation.policy-trap', from: '          if (!isNew) continue\n', to: '' },
  ],
  'packages/engine/src/compile/plan-weight.ts': [
    { breaks: 'limit.policy-memory', from: 'bytes += policyWeight(policy)', to: 'bytes += policy.length' },
  ],
  'packages/engine/src/explain/analyze-plan.ts': [
    { breaks: 'limit.plan-review', from: 'const MOST_NAMED = 5', to: 'const MOST_NAMED = 50' },
  ],
  'packages/engine/src/state/apply-receipts.ts': [
    {
      breaks: 'turn.receipt.weak-evidence',
      from: 'if (open.succeeded && !isStopped && !isTampered)',
      to: 'if (!isStopped && !isTampered)',
    },
    {
      breaks: 'snapshot.total-cost',
      from: 'next.totalCost = addDecimals(next.totalCost, cost)',
      to: 'next.totalCost = next.actualCost',
    },
    { breaks: 'snapshot.last-step', from: 'tools: [...effects.tools], cost:', to: 'tools: [], cost:' },
    { breaks: 'contract.transitions', from: 'next.phase = phase\n', to: '' },
    {
      breaks: 'state.pending-call.advances-if-satisfied',
      from: "receipt.outcome !== 'succeeded' || !receipt.at_level",
      to: '!receipt.at_level && receipt.late',
    },
  ],
  'packages/engine/src/state/apply-event.ts': [
    {
      breaks: 'snapshot.control-revision',
      from: 'return controlled({ ...state, toolFilter: event.body.tools })',
      to: 'return { ...state, toolFilter: event.body.tools }',
    },
    { breaks: 'state.recover.rotates-fence', from: '...state, fence: body.fence, holderId', to: '...state, holderId' },
  ],
  'packages/engine/src/state/snapshot.ts': [
    { breaks: 'snapshot.agent', from: 'agent: state.agent,', to: 'agent: null,' },
    { breaks: 'snapshot.tool-call-counts', from: '{ ...state.committed }', to: '{ ...state.used }' },
    { breaks: 'snapshot.forbidden-tools', from: 'Object.keys(state.used)', to: 'Object.keys(state.committed)' },
    { breaks: 'snapshot.killed', from: "killed: state.status === 'KILLED'", to: 'killed: false' },
  ],
  'packages/engine/src/state/session-start.ts': [
    { breaks: 'label.at-creation', from: 'labels: [...new Set(body.labels)]', to: 'labels: []' },
  ],
  'packages/engine/src/compile/phase-graph.ts': [
    {
      breaks: 'error.config.compilation-failed.circular',
      from: 'const ending = closure(graph.terminal, reversed(graph.moves))',
      to: 'const ending = closure([graph.initial, ...graph.terminal], graph.moves)',
    },
    {
      breaks: 'error.config.compilation-failed.unreachable',
      from: 'const reachable = closure([graph.initial], graph.moves)',
      to: 'const reachable = closure(graph.names, graph.moves)',
    },
  ],
  'packages/engine/src/contract/operators.ts': [
    {
      breaks: 'block.argument-value-mismatch',
      from: 'numeric((found, bound) => found >= bound)',
      to: 'numeric((found, bound) => found >= bound - 0.01)',
    },
  ],
  'packages/engine/src/contract/pricing.ts': [
    {
      breaks: 'snapshot.actual-cost.limits',
      from: "const PER_TOKEN = '0.000001'",
      to: "const PER_TOKEN = '0.0000001'",
    },
  ],
  'packages/engine/src/response/read-anthropic.ts': [
    {
      breaks: 'validate.anthropic',
      from: 'name: block.name, arguments: block.input',
      to: 'name: block.name, arguments: block.arguments',
    },
  ],
  'packages/engine/src/learn/draft-schema.ts': [
    {
      breaks: 'learn.from-captures',
      from: 'if (needed.length > 0) keywords.required = needed',
      to: 'if (needed.length < 0) keywords.required = needed',
    },
  ],
}
