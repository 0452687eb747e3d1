import { loadModule, parse } from 'libpg-query'

await loadModule()

/** The column of each table and view that says whose a row is. */
export type Owners = ReadonlyMap<string, string>

export interface LintOptions {
  readonly owners: Owners
  /** The statements that may look beyond one tenant, by the name in their comment. */
  readonly across: ReadonlyMap<string, { readonly writes?: true }>
  /** In a function: the argument that names the tenant. */
  readonly argument?: string
}

type Node = { readonly [key: string]: unknown }
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null
const child = (node: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>((at, key) => (isNode(at) ? at[key] : undefined), node)
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Functions that PostgreSQL may not run on another machine's rows, and those whose answer a statement keeps. */
const VOLATILE = ['clock_timestamp', 'random', 'gen_random_uuid', 'set_config', 'nextval', 'timeofday']
const STABLE = ['now', 'statement_timestamp', 'transaction_timestamp']

const MARK = /^\s*\/\* across tenants: ([^*]+) \*\//

/**
 * What is wrong with a statement: it does not name its tenant, or a PostgreSQL whose tables are divided over machines
 * refuses it. Throws where it is no SQL.
 */
export async function lintStatement(text: string, options: LintOptions): Promise<string[]> {
  const name = MARK.exec(text)?.[1]
  const look = name === undefined ? undefined : options.across.get(name)
  if (name !== undefined && look === undefined) return [`"${name}" is not in the list of what looks across tenants`]
  const problems = new Set<string>()
  const { stmts } = (await parse(text)) as { stmts?: readonly unknown[] }
  for (const one of list(stmts)) visit(child(one, 'stmt'), new Set(), { ...options, look, problems })
  return [...problems]
}

interface Lint extends LintOptions {
  readonly look: { readonly writes?: true } | undefined
  readonly problems: Set<string>
}

const KINDS = ['SelectStmt', 'InsertStmt', 'UpdateStmt', 'DeleteStmt'] as const
type Kind = (typeof KINDS)[number]

function visit(node: unknown, ctes: ReadonlySet<string>, lint: Lint): void {
  if (Array.isArray(node)) for (const one of node) visit(one, ctes, lint)
  else if (isNode(node)) {
    for (const [key, value] of Object.entries(node)) {
      if (isNode(value) && KINDS.includes(key as Kind)) level(key as Kind, value, ctes, lint)
      else visit(value, ctes, lint)
    }
  }
}

/** One level of a statement: its own tables and conditions. Those of subselects are levels of their own. */
function level(kind: Kind, node: Node, outer: ReadonlySet<string>, lint: Lint): void {
  const ctes = new Set(outer)
  for (const cte of list(child(node, 'withClause', 'ctes'))) ctes.add(String(child(cte, 'CommonTableExpr', 'ctename')))
  const { larg, rarg, ...rest } = node
  for (const half of [larg, rarg]) if (isNode(half)) level('SelectStmt', half, ctes, lint)
  if (lint.look === undefined) nameTenant(kind, node, ctes, lint)
  else if (kind !== 'SelectStmt' && !lint.look.writes) lint.problems.add('changes rows of more than one tenant')
  else if (node.lockingClause !== undefined) lint.problems.add('locks rows of more than one tenant')
  refuse(kind, node, lint)
  visit(rest, ctes, lint)
}

interface Relation {
  readonly table: string
  readonly alias: string
}

function nameTenant(kind: Kind, node: Node, ctes: ReadonlySet<string>, lint: Lint): void {
  const relations: Relation[] = []
  const conditions: unknown[] = [node.whereClause]
  const merged = new Set<string>()
  const add = (range: unknown) => {
    const table = String(child(range, 'relname'))
    if (!lint.owners.has(table) || ctes.has(table)) return
    relations.push({ table, alias: String(child(range, 'alias', 'aliasname') ?? table) })
  }
  const walk = (from: unknown) => {
    if (child(from, 'RangeVar') !== undefined) add(child(from, 'RangeVar'))
    const join = child(from, 'JoinExpr')
    if (!isNode(join)) return
    const before = relations.length
    walk(join.larg)
    walk(join.rarg)
    conditions.push(join.quals)
    const using = list(join.usingClause).map((name) => child(name, 'String', 'sval'))
    for (const { table, alias } of relations.slice(before))
      if (using.includes(lint.owners.get(table))) merged.add(alias)
  }
  for (const from of [...list(node.fromClause), ...list(node.usingClause)]) walk(from)
  if (kind === 'UpdateStmt' || kind === 'DeleteStmt') add(node.relation)
  const named = namesOf(conditions, lint)
  for (const { table, alias } of relations) {
    const column = lint.owners.get(table)
    const isNamed = (other: string) => named.has(`${other}.${column}`) || named.has(`.${column}`)
    if (!isNamed(alias) && !(merged.has(alias) && [...merged].some(isNamed)))
      lint.problems.add(`${table} is not compared with the tenant`)
  }
  if (kind === 'InsertStmt') nameTenantOfNew(node, lint)
}

/** `alias.column`, or `.column`, of what is compared with the tenant. */
function namesOf(conditions: readonly unknown[], lint: Lint): ReadonlySet<string> {
  const named = new Set<string>()
  const look = (condition: unknown): void => {
    if (child(condition, 'BoolExpr', 'boolop') === 'AND_EXPR') list(child(condition, 'BoolExpr', 'args')).forEach(look)
    const equal = child(condition, 'A_Expr')
    if (child(equal, 'kind') !== 'AEXPR_OP' || child(list(child(equal, 'name'))[0], 'String', 'sval') !== '=') return
    const sides = [child(equal, 'lexpr'), child(equal, 'rexpr')]
    for (const [column, tenant] of [sides, sides.toReversed()]) {
      const fields = fieldsOf(column)
      if (fields.length > 0 && isTenant(tenant, lint)) named.add([fields.at(-2) ?? '', fields.at(-1)].join('.'))
    }
  }
  conditions.forEach(look)
  return named
}

const fieldsOf = (node: unknown): string[] =>
  list(child(node, 'ColumnRef', 'fields')).map((field) => String(child(field, 'String', 'sval') ?? '*'))

function isTenant(node: unknown, lint: Lint): boolean {
  if (child(node, 'TypeCast') !== undefined) return isTenant(child(node, 'TypeCast', 'arg'), lint)
  if (lint.argument !== undefined) return fieldsOf(node).join('.') === lint.argument
  return child(node, 'ParamRef') !== undefined
}

/** A new row has the tenant, or what a row of the same statement has, which is compared with it there. */
function nameTenantOfNew(node: Node, lint: Lint): void {
  const table = String(child(node, 'relation', 'relname'))
  const column = lint.owners.get(table)
  if (column === undefined) return
  const at = list(node.cols).findIndex((col) => child(col, 'ResTarget', 'name') === column)
  const select = child(node, 'selectStmt', 'SelectStmt')
  const rows = list(child(select, 'valuesLists')).map((row) => list(child(row, 'List', 'items'))[at])
  const values = rows.length > 0 ? rows : [child(list(child(select, 'targetList'))[at], 'ResTarget', 'val')]
  const isOwn = (value: unknown) => isTenant(value, lint) || fieldsOf(value).at(-1) === 'tenant_id'
  if (at === -1 || !values.every(isOwn)) lint.problems.add(`a new row of ${table} does not have the tenant`)
}

/** What Citus refuses, in the words of PostgreSQL's documentation. */
function refuse(kind: Kind, node: Node, { owners, problems }: Lint): void {
  const own = { ...node, withClause: undefined }
  if (has(own, (at) => fieldsOf(at).includes('ctid'))) problems.add('uses ctid')
  if (kind === 'SelectStmt' || !owners.has(String(child(node, 'relation', 'relname')))) return
  const changes = kind === 'InsertStmt' ? [] : [node.targetList, node.whereClause]
  if (calls([...changes, node.returningClause], VOLATILE)) problems.add('changes rows by a volatile function')
  if (kind === 'UpdateStmt' && has(node.targetList, isChoice)) problems.add('the time is in a CASE or COALESCE')
  const values = child(node, 'selectStmt', 'SelectStmt', 'valuesLists')
  if (has(values, (at) => at.SubLink !== undefined)) problems.add('a subselect is in VALUES')
  const conflict = node.onConflictClause
  if (calls(conflict, [...VOLATILE, ...STABLE])) problems.add('ON CONFLICT has a function that is not immutable')
  if (has(conflict, (at) => at.SubLink !== undefined)) problems.add('ON CONFLICT has a subselect')
}

const isChoice = (node: Node): boolean =>
  (node.CoalesceExpr !== undefined || node.CaseExpr !== undefined) && calls(node, [...VOLATILE, ...STABLE])

const calls = (node: unknown, names: readonly string[]): boolean =>
  has(node, ({ FuncCall }) => names.includes(String(child(list(child(FuncCall, 'funcname')).at(-1), 'String', 'sval'))))

const has = (node: unknown, test: (node: Node) => boolean): boolean =>
  isNode(node) && ((!Array.isArray(node) && test(node)) || Object.values(node).some((value) => has(value, test)))
