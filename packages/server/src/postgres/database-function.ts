import type { Queryable, Statement } from './sql.js'
import type { Value } from './values.js'

type Type = 'bigint' | 'boolean' | 'bytea' | 'float8' | 'integer' | 'json' | 'text' | 'timestamptz'
/** By their names; the tenant, or another owner of what is changed, is among them. */
type Arguments = Readonly<Record<string, Type>> & ({ readonly tenant: 'text' } | { readonly owner: 'text' })
export interface Results {
  readonly boolean: boolean
  readonly integer: number
  readonly json: unknown
}

/** What the database must have, in `sql/functions`. */
export interface Signature {
  readonly name: string
  readonly takes: Readonly<Record<string, Type>>
  readonly gives: keyof Results
}

/** A function of the database. Each argument is given by its name and with its type, which depend on nothing else then. */
export function databaseFunction<const Takes extends Arguments, Gives extends keyof Results>(
  name: string,
  takes: Takes,
  gives: Gives,
) {
  type Rows = readonly { readonly result: Results[Gives] }[]
  const names = Object.keys(takes)
  const given = Object.entries(takes).map(([argument, type], at) => `p_${argument} => $${at + 1}::${type}`)
  const text = `select ${name}(${given.join(', ')}) as result`

  const statement = (sql: Queryable, values: { readonly [Name in keyof Takes]: Value }): Statement<Rows> => {
    const by: Readonly<Record<string, Value>> = values
    // A coordinator of Citus sends the call to the machine that holds the tenant, and crashes where it is null.
    if (typeof (by.tenant ?? by.owner) !== 'string') throw new TypeError(`${name} is called without a tenant`)
    const parameters = names.map((argument) => by[argument] as Value)
    return sql.unsafe<Rows>(text, parameters)
  }
  const call = async (sql: Queryable, values: Parameters<typeof statement>[1]): Promise<Results[Gives]> => {
    const [row] = await statement(sql, values)
    if (row === undefined) throw new Error(`${name} returned no row`)
    return row.result
  }
  const signature: Signature = { name, takes, gives }
  return Object.assign(call, { statement, signature })
}
