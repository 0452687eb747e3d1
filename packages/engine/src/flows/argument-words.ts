import { argumentName } from '../contract/source-rule.js'

/** Splits an identifier into its words. */
export const wordsOf = (name: string): string[] =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')

/** The words of a tool's name, without the server that serves it: hosts write `mcp__server__tool` or `server__tool`. */
export const toolWords = (tool: string): string[] => {
  const parts = tool.split('__').filter((part) => part !== '')
  const named = parts.slice(parts[0] === 'mcp' ? 2 : 1).join('_')
  return wordsOf(named === '' ? tool : named)
}

/** Words in names of arguments that the model writes rather than looks up. */
const WRITTEN = new Set(
  (
    'body caption comment comments content contents description details headline memo message note notes reason ' +
    'remark remarks subject summary text title topic'
  ).split(' '),
)

/** The argument's name says that the model words the value itself: that wins over what was learned. */
export const isWritten = (path: string): boolean => wordsOf(argumentName(path)).some((word) => WRITTEN.has(word))

const IDENTIFYING = new Set('id ids uid uids'.split(' '))

/** Numbers are amounts unless the argument's name says that they identify something, as in `ticket_id`. */
export const namesByNumber = (path: string): boolean => IDENTIFYING.has(wordsOf(argumentName(path)).at(-1) ?? '')
