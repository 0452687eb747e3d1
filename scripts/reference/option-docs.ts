import { OPTIONS, type OptionRow } from '../../packages/sdk/src/options/option-table.js'
import type { MemberDocs } from './documented-interface.js'

type Face = keyof typeof OPTIONS

const rowsOf = (face: Face) => Object.entries<OptionRow>(OPTIONS[face])

/** The options of a face as TSDoc. */
export const optionDocs = (face: Face): MemberDocs => new Map(rowsOf(face).map(([name, row]) => [name, docLines(row)]))

function docLines({ doc, kind, ...row }: OptionRow): string[] {
  const range = kind.max === undefined ? '' : ` From ${kind.min} to ${kind.max}.`
  const values = Object.entries(kind.values ?? {}).map(([value, meaning]) => `- \`${value}\`: ${meaning}`)
  const usual = row.default === undefined ? row.defaultsTo : `\`${literal(row.default)}\``
  return [`${doc}${range}`, ...values, ...(usual === undefined ? [] : [`@defaultValue ${usual}`])]
}

/** The options of a face as rows of the reference page: name, type, default, what it does. */
export const optionRows = (face: Face): string[][] =>
  rowsOf(face).map(([name, { doc, kind, required, defaultsTo = '', ...row }]) => [
    `\`${name}\``,
    kind.type,
    required ? 'required' : row.default === undefined ? defaultsTo : `\`${written(row.default)}\``,
    [doc, ...Object.entries(kind.values ?? {}).map(([value, meaning]) => `\`${value}\`: ${meaning}.`)].join(' '),
  ])

const written = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
const literal = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : JSON.stringify(value))
