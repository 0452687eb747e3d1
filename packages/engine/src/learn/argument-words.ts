import { argumentName } from '../contract/source-rule.js'

/** The words that a programmer's name is made of. */
export const wordsOf = (name: string): string[] =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')

/** Names of arguments that are written and not looked up, in the words of programmers. */
const WRITTEN = new Set(
  'body comment comments content contents description memo message note notes subject text'.split(' '),
)

/** Until there are sessions to learn it from, an argument's name says whether the model is meant to write it itself. */
export const isWritten = (path: string): boolean => wordsOf(argumentName(path)).some((word) => WRITTEN.has(word))

const IDENTIFYING = new Set('id ids uid uids'.split(' '))

/** Numbers are amounts, save where the argument's name says that they name something, as in `ticket_id`. */
export const namesByNumber = (path: string): boolean => IDENTIFYING.has(wordsOf(argumentName(path)).at(-1) ?? '')
