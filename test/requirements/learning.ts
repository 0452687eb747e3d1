import type { Facts } from './facts.js'

/** What learned contracts judge, and how it is measured. */
export const learning = {
  'learn.dictated': 'A date or a number that only the free text of a result names is not accepted unseen; one that was computed is',
  'learn.descriptive-columns': 'A column of results that never held a sentence vouches for its whole cells, also long ones such as postal addresses',
  'learn.quoted': 'Text that repeats free text of a result word for word is asked about',
  'learn.invented': 'A made-up address or identifier is asked about, however often one was made up before',
  'learn.default-rule': 'Every text argument of a tool that changes something is judged, also one that nobody has seen',
  'learn.openings-shown': 'Nothing that captures can hold widens what passes without a line of its own at approval',
} as const satisfies Facts
