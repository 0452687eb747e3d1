import type { Facts } from './facts.js'

/** What holds of work that no request waits for: learning from captures, runs, mail. */
export const backgroundWork = {
  'background.off-the-request-thread': 'While a burst of the largest captures is learned, other tenants’ turns and kills are answered',
  'background.learning-line':
    'Learning waits for the thread in a line of its own: what one tenant brings besides its captures keeps nobody from being learned from',
  'background.learned-once': 'A capture counts exactly once, whichever instance is killed at whatever moment of learning',
  'background.set-aside': 'A capture whose learning failed three times is set aside and not tried again; those beside it are learned',
  'background.set-aside.reported': 'What was set aside is shown in the log, the metrics and the dashboard, and an operator can list, show, retry and drop it',
  'background.runs-in-turn':
    'Of runs that wait, the oldest of the tenant with fewest under way is next, and is found among 5,000 by reading less than a quarter of them; a tenant has two under way at most',
  'background.run-gives-up': 'A run that was begun three times without getting through fails, and its error says so',
} as const satisfies Facts
