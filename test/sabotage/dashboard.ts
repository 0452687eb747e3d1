import type { Bugs } from './sabotages.js'

/** What the pages make of the service's answers. */
export const dashboardSabotages: Bugs = {
  'packages/dashboard/src/text/csv.ts': [
    { breaks: 'people.audit.no-formulas', from: '/^[=+\\-@\\t\\r\\n]/', to: '/^[=+\\-@]/' },
  ],
  'packages/dashboard/src/text/visible-text.ts': [
    { breaks: 'people.questions.hidden-characters', from: '\\p{DI}', to: '[\\u200b-\\u206f]' },
  ],
  'packages/dashboard/src/pages/questions/answer-choices.ts': [
    { breaks: 'people.questions.only-deny', from: 'changed === true ? null : card', to: 'card' },
    { breaks: 'people.questions.only-deny', from: '.length <= MOST_CHARACTERS_OF_A_LINE', to: '.length > 0' },
    { breaks: 'people.questions.read-again', from: 'card_hash !== readHash', to: 'false' },
  ],
  'packages/dashboard/src/pages/questions/leaf-values.ts': [
    { breaks: 'people.questions.changes', from: '...fresh.keys(), ...old.keys()', to: '...fresh.keys()' },
  ],
  'packages/dashboard/src/pages/questions/batch-sums.ts': [
    { breaks: 'people.questions.sums', from: 'name + currencyOf(given)', to: 'name' },
  ],
}
