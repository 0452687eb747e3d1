import { parsePlPgSQL } from 'libpg-query'
import { type LintOptions, lintStatement } from './lint-statement.js'

/** A function of the database, as its catalogue describes it. */
export interface StoredFunction {
  readonly name: string
  readonly language: string
  /** `create function …` */
  readonly definition: string
  readonly source: string
  readonly arguments: readonly string[]
  readonly returnsSet: boolean
  readonly returnsRow: boolean
}

/** What is wrong with a function that is called for a tenant. */
export async function lintFunction(fn: StoredFunction, options: Omit<LintOptions, 'argument'>): Promise<string[]> {
  const [argument = ''] = fn.arguments
  const problems: string[] = []
  if (!argument.endsWith('tenant') && !argument.endsWith('owner')) problems.push('its first argument is not the tenant')
  if (fn.returnsSet || fn.returnsRow) problems.push('its result is not one value')
  for (const statement of await statementsOf(fn)) {
    try {
      problems.push(...(await lintStatement(statement, { ...options, argument })))
    } catch (error) {
      problems.push(`${error instanceof Error ? error.message : error}: ${statement}`)
    }
  }
  return [...new Set(problems)].map((problem) => `${fn.name}: ${problem}`)
}

async function statementsOf({ language, definition, source }: StoredFunction): Promise<string[]> {
  if (language === 'sql') return [source]
  const found: string[] = []
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    if ('PLpgSQL_expr' in node) found.push(asStatement(node.PLpgSQL_expr as { query: string; parseMode: number }))
    for (const value of Object.values(node)) walk(value)
  }
  walk(await parsePlPgSQL(definition))
  return found
}

/** Expressions and assignments are the end of a select. */
function asStatement({ query, parseMode }: { query: string; parseMode: number }): string {
  if (parseMode === 0) return query
  return `select ${parseMode === 2 ? query : query.replace(/^[^=]*?:?=/, '')}`
}
