import type { Bugs } from './sabotages.js'

/** Rules that are kept per key or over all sessions, hours, and the commands that write and try contracts. */
export const ruleSabotages: Bugs = {
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
