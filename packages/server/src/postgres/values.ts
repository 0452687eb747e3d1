import pg from 'pg'
import { isoTime } from '../base/iso-time.js'

/** What a statement may be given. An object or an array of other things is written as JSON by the caller. */
export type Value = string | number | bigint | boolean | Date | Uint8Array | null | readonly (string | number | null)[]

export function toParameter(value: Value): Value {
  if (value === undefined) throw new TypeError('a statement was given a value that is undefined')
  return value instanceof Date ? isoTime(value) : value
}

const BIGINT = 20
const TIMES = [1082, 1114, 1184]

/** As the driver reads them, but a bigint as a number and times as the instants they are. */
export const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (type: number, format?: string) => {
    if (type === BIGINT) return readBigint
    if (TIMES.includes(type)) return readTime
    return pg.types.getTypeParser(type, format as 'text')
  },
}

const readTime = (text: string): Date => new Date(text)

function readBigint(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`a bigint column holds ${text}, beyond 2^53 - 1`)
  return value
}

/** The rows of an answer by their columns, whose names become camelCase; keys inside json stay as they are. */
export function toRows({ fields, rows }: pg.QueryArrayResult): object[] {
  const names = fields.map(({ name }) => camelCase(name))
  return rows.map((values) => {
    const row: Record<string, unknown> = {}
    for (let at = 0; at < names.length; at += 1) row[names[at] as string] = values[at]
    return row
  })
}

const known = new Map<string, string>()

function camelCase(column: string): string {
  let name = known.get(column)
  if (name === undefined) {
    name = column.replace(/(?<=.)_(.)/g, (_, letter: string) => letter.toUpperCase())
    known.set(column, name)
  }
  return name
}
