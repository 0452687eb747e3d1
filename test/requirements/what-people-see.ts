import type { Facts } from './facts.js'

export const whatPeopleSee = {
  'people.plan-diff.by-meaning':
    'A comparison of plans says blocks where the new rule lets less through, and allows where it lets more through, whatever its lines look like',
  'people.plan-diff.first-plan': 'The first plan of an agent is never said to allow more: nothing was blocked before it',
  'people.counts.backtest': 'A backtest says how many sessions would change, and where its list is shorter it says so',
} satisfies Facts
