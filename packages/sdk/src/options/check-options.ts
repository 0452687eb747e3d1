import { suggestName } from '@countersign/engine'
import { ReplayConfigError } from '../base/errors.js'
import { OPTIONS, type OptionRow } from './option-table.js'

export type OptionFace = keyof typeof OPTIONS

/** The names in `given` that are no option, each with what was probably meant. */
export function unknownOptions(face: OptionFace, given: object): [name: string, problem: string][] {
  const rows = rowsOf(face)
  return Object.keys(given)
    .filter((name) => !rows.has(name))
    .map((name) => [name, `is unknown: ${suggestOption(name, rows)}`])
}

function suggestOption(written: string, rows: ReadonlyMap<string, OptionRow>): string {
  for (const [name, { alsoCalled }] of rows) if (alsoCalled?.test(written)) return `did you mean "${name}"?`
  return suggestName(written, rows.keys())
}

/** Throws for the first option of `replay` that is unknown or wrong. */
export function refuseWrongOptions(face: OptionFace, given: object, prefix = ''): void {
  for (const [name, problem] of unknownOptions(face, given)) refuse(prefix + name, problem)
  for (const [name, { kind, required }] of rowsOf(face)) {
    const value: unknown = Reflect.get(given, name)
    const problem = value === undefined && !required ? null : kind.problem(value)
    if (problem !== null) refuse(prefix + name, problem)
  }
}

export function refuse(option: string, problem: string): never {
  throw new ReplayConfigError(`option ${option} ${problem}`, 'compilation_failed')
}

const rowsOf = (face: OptionFace): ReadonlyMap<string, OptionRow> => new Map(Object.entries<OptionRow>(OPTIONS[face]))
