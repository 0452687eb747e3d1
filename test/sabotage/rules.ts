import type { Bugs } from './sabotages.js'

/** Rules that are kept per key or over all sessions, hours, and the commands that write and try contracts. */
export const ruleSabotages: Bugs = {
  'packages/engine/src/contract/when/condition.ts': [
    {
      breaks: 'condition.unknown',
      from: "if (!cannotCompare(found)) return 'fails'",
      to: "if (!cannotCompare(found) || found !== null) return 'fails'",
    },
    { breaks: 'condition.applies', from: "return one === 'holds'\n  }", to: "return one !== 'holds'\n  }" },
    { breaks: 'condition.unknown', from: "(type ?? 'string')", to: "'string'" },
  ],
  'packages/sdk/src/authority/remote/complete-decision.ts': [
    {
      breaks: 'session.add-label',
      from: 'if (own.reason === null) return withCheckpoints',
      to: 'return withCheckpoints',
    },
    {
      breaks: 'session.add-label',
      from: 'return withCheckpoints(decision, own.checkpoints)',
      to: 'return decision',
    },
  ],
  'packages/engine/src/judge/rules/scene.ts': [
    { breaks: 'condition.labels', from: "? 'unknown' : false)", to: '? false : false)' },
    {
      breaks: 'condition.unknown',
      from: "if (answer === 'unknown') isTold = false",
      to: "if (answer === 'unknown') return null",
    },
    {
      breaks: 'condition.counts',
      from: 'keys: contract.keys.filter(({ expression }) => expressions.has(expression)),',
      to: '',
    },
    {
      breaks: 'condition.counts',
      from: 'const preconditions = choose(contract.preconditions)',
      to: 'const { preconditions } = contract',
    },
  ],
  'packages/engine/src/judge/receipts.ts': [
    {
      breaks: 'condition.latest',
      from: "receipt.outcome === 'not_executed') return receipt\n  const call",
      to: "receipt.outcome !== 'succeeded') return receipt\n  const call",
    },
  ],
  'packages/engine/src/judge/validate.ts': [
    {
      breaks: 'condition.validate',
      from: 'readsArgumentsOnly(rule) && applies(rule, scene)',
      to: 'applies(rule, scene)',
    },
  ],
  'packages/server/src/context/plan-cost.ts': [
    {
      breaks: 'condition.cost',
      from: "typeof value !== 'object' || value === null) return 1",
      to: "typeof value !== 'object' || value === null || key === 'when') return 1",
    },
  ],
  'packages/engine/src/judge/rules/risk.ts': [
    {
      breaks: 'condition.refused-call',
      from: 'one.tool === tool && one.hash === argumentHash',
      to: 'one.tool === tool',
    },
  ],
  'packages/engine/src/state/apply-receipts.ts': [
    { breaks: 'condition.refused-call', from: 'calls.filter((call) => !refused.includes(call))', to: 'calls' },
  ],
  'packages/engine/src/judge/row-values.ts': [
    { breaks: 'condition.each', from: 'values.set(slot, isOne ? value : undefined)', to: 'values.set(slot, value)' },
    { breaks: 'condition.each', from: '+ own.size >= LIMITS.keysPerName', to: '>= LIMITS.keysPerName' },
  ],
  'packages/engine/src/judge/narrow.ts': [
    { breaks: 'condition.narrowing', from: ': ifSure(scene)', to: ': unlessFailing(scene)' },
    {
      breaks: 'condition.narrowing',
      from: "kind === 'provider' ? unlessFailing(scene)",
      to: 'false ? unlessFailing(scene)',
    },
  ],
  'packages/engine/src/judge/rules/rule.ts': [
    { breaks: 'condition.message', from: '[fact ?? remedy, ...new Set', to: '[...new Set' },
  ],
  'packages/engine/src/compile/prepare-when.ts': [
    { breaks: 'condition.unknown', from: 'Array.isArray(found) && found.some(isOther)', to: 'false' },
    { breaks: 'condition.old-checkpoints', from: "|| isLenient ? 'fails'", to: "? 'fails'" },
    { breaks: 'condition.refused', from: 'labels.size < 2 && contradictionIn(tests) === null', to: 'labels.size < 2' },
  ],
  'packages/engine/src/explain/compare-when.ts': [
    { breaks: 'condition.words', from: 'if (wants.exists === true && has.exists !== true) return false', to: '' },
  ],
  'packages/engine/src/explain/condition-remarks.ts': [
    { breaks: 'condition.remarks', from: 'exists !== false || ', to: '' },
  ],
  'packages/server/src/runs/judgeable-plan.ts': [
    { breaks: 'condition.backtest', from: 'principal === undefined && ', to: '' },
  ],
  'packages/engine/src/state/kept-values.ts': [
    { breaks: 'contract.keys', from: '(key === null ? name : `${name}#${key}`)', to: 'name' },
  ],
  'packages/engine/src/judge/judge-call.ts': [
    {
      breaks: 'guarantee.sources.whole-arguments',
      from: 'isGuardedBy(plan.contracts.get(tool)?.sources ?? [], path)',
      to: '(plan.contracts.get(tool)?.sources ?? []).length > 0 && path !== null',
    },
  ],
  'packages/engine/src/flows/flows.ts': [
    {
      breaks: 'guarantee.sources.echo',
      from: 'return found.filter(({ echo, order }) => echo !== true || order > first)',
      to: 'return first === Number.POSITIVE_INFINITY && found.length === 1 ? [] : found',
    },
  ],
  'packages/engine/src/json/leaves.ts': [
    { breaks: 'guarantee.sources.keys', from: 'if (isData === true)', to: "if (isData === true && path === '$')" },
  ],
  'packages/engine/src/judge/rules/keys.ts': [
    { breaks: 'contract.keys', from: 'if (count >= LIMITS.keysPerName', to: 'if (count > LIMITS.keysPerName' },
  ],
  'packages/engine/src/compile/prepare-kept.ts': [
    { breaks: 'contract.keys', from: 'keyed.has(value.ref) ? key : null', to: 'null' },
  ],
  'packages/engine/src/judge/rules/order.ts': [
    {
      breaks: 'contract.consumes',
      from: 'return openingsLeft(state, opening) > (tally.consumed.get(openingName(opening)) ?? 0)',
      to: 'return openingsLeft(state, opening) > 0',
    },
  ],
  'packages/engine/src/state/apply-proposal.ts': [
    {
      breaks: 'contract.consumes',
      from: 'next.openings = changeOpenings(next.openings, consumed, -1)',
      to: '',
    },
  ],
  'packages/engine/src/contract/hours.ts': [
    { breaks: 'contract.hours', from: 'minute < span.to', to: 'minute <= span.to' },
    { breaks: 'contract.hours', from: '{ timeZone: zone, hourCycle', to: "{ timeZone: 'UTC', hourCycle" },
  ],
  'packages/engine/src/contract/cedar.ts': [
    { breaks: 'contract.time-in-policies', from: 'hour: at.getUTCHours()', to: 'hour: at.getUTCHours() + 1' },
  ],
  'packages/engine/src/judge/rules/draws.ts': [
    { breaks: 'contract.shared-limits', from: 'return workflowId', to: "return ''" },
    { breaks: 'contract.shared-limits', from: 'const folded = foldedText(text)', to: 'const folded = text' },
    {
      breaks: 'shared-limit.keys-hashed',
      from: 'sha256Hex(`${salt.length}:${salt}:${JSON.stringify([name, counts, window, per, key])}`)',
      to: 'JSON.stringify([name, counts, window, per, key])',
    },
  ],
  'packages/engine/src/backtest/run-story.ts': [
    { breaks: 'contract.stories', from: 'step.reason !== undefined && step.reason !== block.reason', to: 'false' },
  ],
  'packages/protocol/src/file-schemas.ts': [
    { breaks: 'contract.schemas', from: 'if (together !== undefined) jsonSchema.allOf = [...together]', to: '' },
  ],
  'packages/cli/src/commands/init.ts': [
    { breaks: 'contract.init', from: 'if (found !== undefined) return', to: 'if (found === folder) return' },
  ],
  'packages/sdk/src/session/core/load-plan.ts': [
    {
      breaks: 'shared-limit.server-only',
      from: 'if (shared === null && !hasStickyLabels) return',
      to: 'if ((shared === null && !hasStickyLabels) || settings.store !== undefined) return',
    },
  ],
  'packages/server/src/store/dashboard/shared-limit-usage.ts': [
    { breaks: 'people.shared-limits', from: 'order by used / most desc', to: 'order by used / most' },
    { breaks: 'people.shared-limits', from: 'where amount > 0 and bucket >=', to: 'where amount > 0 or bucket >=' },
  ],
  'packages/server/src/dashboard/load-session-detail.ts': [
    {
      breaks: 'people.kept-keys',
      from: 'labels.filter((label) => stickyLabels.includes(label))',
      to: '[...labels]',
    },
  ],
}
