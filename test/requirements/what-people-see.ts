import type { Facts } from './facts.js'

export const whatPeopleSee = {
  'people.plan-diff.by-meaning':
    'A comparison of plans says blocks where the new rule lets less through, and allows where it lets more through, whatever its lines look like',
  'people.plan-diff.first-plan': 'The first plan of an agent is never said to allow more: nothing was blocked before it',
  'people.counts.backtest': 'A backtest says how many sessions would change, and where its list is shorter it says so',
  'people.counts.totals': 'Totals count all sessions and agents, also those beyond the end of a list',
  'people.numbers.calls': 'The list of calls has exactly as many rows as the overview says, by decision, reason and agent',
  'people.activity': 'A session is running, idle or ended, and each list and number of sessions goes by that',
  'people.unanswered.counted': 'Calls that were allowed and never got a receipt are a number of the overview, with the age of the oldest',
  'people.unanswered.listed': 'Each unanswered call is in a list, and its session and agent say how many they have',
  'people.unanswered.still-runs': 'A call whose session has a live holder is not called unanswered',
  'people.acts.label-once': 'A label by a person and its audit entry are written together, once',
  'people.acts.draft-edits': 'Edits of a draft and backtests are in the audit trail, and an approval cites the backtest it rests on',
  'people.acts.approver-hashed': 'Who approved a checkpoint and why are hashed in the ledger, and what was changed since is not shown',
  'people.acts.shown': 'A session shows who approved a checkpoint, and who killed it and why',
  'people.plot.dates': 'A plot over days says which day, and one within a day the time',
  'people.edits.survive': 'Edits of a draft that are not saved outlast navigation and a reload',
  'people.edits.merge': 'Edits of two people can be brought together, file by file, and then saved',
  'people.editor.adds-file': 'The editor of a draft adds a contract for a tool that has none',
  'people.list.sorted-as-headed': 'Sessions are sorted and filtered by the start that the heading names, in both directions',
  'people.layout.fits': 'Filters, tables of failures and graphs fit the window of a desktop and of a phone',
  'people.live-is-true': 'A page that cannot be up to date does not say that it is live',
  'people.agents.agree': 'What an agent shows agrees with its sessions: blocked, killed and compromised ones are no health',
  'people.frame-stays': 'A page that cannot be loaded leaves the frame around it, and money and data are shown in words',
  'people.fixtures.recorded': 'The page tests show replies that were recorded from the service, and a reply of another shape fails',
  'people.numbers.lead-to-lists': 'Every number of a page leads to a list of exactly as many rows, in the same time range',
} satisfies Facts
