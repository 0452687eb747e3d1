import type { Bugs } from './sabotages.js'

/** What the pages make of the service's answers. */
export const dashboardSabotages: Bugs = {
  'packages/dashboard/src/text/csv.ts': [
    { breaks: 'people.audit.no-formulas', from: '/^[=+\\-@\\t\\r\\n]/', to: '/^[=+\\-@]/' },
  ],
}
