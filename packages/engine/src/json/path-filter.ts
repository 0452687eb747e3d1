import type { JsonValue } from '@countersign/protocol'
import { type JSONPathQuery, jsonpath } from 'json-p3'
import { codePoints } from '../text/code-points.js'
import { equalValues } from './equal-values.js'
import { patternTest } from './json-path-regex.js'

/** One evaluation of a path. `location` is where the walk stands and changes while it goes on. */
export interface Walk {
  readonly root: JsonValue
  readonly location: (string | number)[]
}

/** Called for every value that is found, in order; true ends the walk. */
export type Found = (value: JsonValue) => boolean

/** Goes on from a value and calls `found` for whatever the rest of the path selects. True if it was ended. */
export type Follow = (walk: Walk, value: JsonValue, found: Found) => boolean

/** Whether a filter holds for an item; `root` is the value that the whole path is applied to. */
export type Filter = (item: JsonValue, root: JsonValue) => boolean

type Expression = InstanceType<typeof jsonpath.expressions.FilterExpression>

/** A value of an expression; undefined is the special result Nothing. */
type Operand = (item: JsonValue, root: JsonValue) => JsonValue | undefined

const {
  BooleanLiteral,
  FilterQuery,
  FunctionExtension,
  InfixExpression,
  LogicalExpression,
  NullLiteral,
  NumberLiteral,
  PrefixExpression,
  RelativeQuery,
  StringLiteral,
} = jsonpath.expressions

/** Compiles the queries inside of a filter. */
type CompileWalk = (query: JSONPathQuery) => Follow

/** Turns a parsed filter into a function. RFC 9535 types every expression as a test, a value or a list of nodes. */
export function compileFilter(expression: Expression, compileWalk: CompileWalk): Filter {
  if (expression instanceof LogicalExpression) return compileFilter(expression.expression, compileWalk)
  if (expression instanceof PrefixExpression) {
    const right = compileFilter(expression.right, compileWalk)
    return (item, root) => !right(item, root)
  }
  if (expression instanceof InfixExpression) return compileInfix(expression, compileWalk)
  if (expression instanceof FilterQuery) {
    const count = compileCount(expression, compileWalk, 1)
    return (item, root) => count(item, root) > 0
  }
  if (expression instanceof FunctionExtension) return compileTest(expression, compileWalk)
  throw new Error('a filter of this kind is not RFC 9535')
}

function compileInfix(
  { left, operator, right }: InstanceType<typeof InfixExpression>,
  compileWalk: CompileWalk,
): Filter {
  if (operator === '&&' || operator === '||') {
    const [first, second] = [compileFilter(left, compileWalk), compileFilter(right, compileWalk)]
    return operator === '&&'
      ? (item, root) => first(item, root) && second(item, root)
      : (item, root) => first(item, root) || second(item, root)
  }
  const compare = COMPARISONS.get(operator)
  if (compare === undefined) throw new Error(`the operator ${operator} is not RFC 9535`)
  const [first, second] = [compileOperand(left, compileWalk), compileOperand(right, compileWalk)]
  return (item, root) => compare(first(item, root), second(item, root))
}

type Compare = (left: JsonValue | undefined, right: JsonValue | undefined) => boolean

const isEqual: Compare = (left, right) =>
  left === undefined || right === undefined ? left === right : equalValues(left, right)

const isLess: Compare = (left, right) => {
  if (typeof left === 'number' && typeof right === 'number') return left < right
  return typeof left === 'string' && typeof right === 'string' && left < right
}

const COMPARISONS: ReadonlyMap<string, Compare> = new Map([
  ['==', isEqual],
  ['!=', (left, right) => !isEqual(left, right)],
  ['<', isLess],
  ['>', (left, right) => isLess(right, left)],
  ['<=', (left, right) => isLess(left, right) || isEqual(left, right)],
  ['>=', (left, right) => isLess(right, left) || isEqual(left, right)],
] satisfies [string, Compare][])

function compileOperand(expression: Expression, compileWalk: CompileWalk): Operand {
  if (expression instanceof NullLiteral) return () => null
  if (
    expression instanceof BooleanLiteral ||
    expression instanceof StringLiteral ||
    expression instanceof NumberLiteral
  ) {
    const { value } = expression
    return () => value
  }
  if (expression instanceof FilterQuery) return compileOnly(expression, compileWalk)
  if (expression instanceof FunctionExtension) return compileValue(expression, compileWalk)
  throw new Error('an operand of this kind is not RFC 9535')
}

/** The value of a query that finds exactly one. */
function compileOnly(query: InstanceType<typeof FilterQuery>, compileWalk: CompileWalk): Operand {
  const visit = compileQuery(query, compileWalk)
  return (item, root) => {
    let count = 0
    let only: JsonValue | undefined
    visit(item, root, (value) => {
      only = value
      return ++count > 1
    })
    return count === 1 ? only : undefined
  }
}

/** How many nodes a query finds, up to `enough`. */
function compileCount(
  query: Expression | undefined,
  compileWalk: CompileWalk,
  enough: number,
): (item: JsonValue, root: JsonValue) => number {
  if (!(query instanceof FilterQuery)) throw new Error('a function of nodes takes a query')
  const visit = compileQuery(query, compileWalk)
  return (item, root) => {
    let count = 0
    visit(item, root, () => ++count >= enough)
    return count
  }
}

function compileQuery(
  query: InstanceType<typeof FilterQuery>,
  compileWalk: CompileWalk,
): (item: JsonValue, root: JsonValue, found: (value: JsonValue) => boolean) => void {
  const follow = compileWalk(query.path)
  const isRelative = query instanceof RelativeQuery
  return (item, root, found) => {
    follow({ root, location: [] }, isRelative ? item : root, found)
  }
}

/** `match` and `search`, the functions whose result is a test. */
function compileTest({ name, args }: InstanceType<typeof FunctionExtension>, compileWalk: CompileWalk): Filter {
  const [subject, pattern] = args.map((argument) => compileOperand(argument, compileWalk))
  if ((name !== 'match' && name !== 'search') || subject === undefined || pattern === undefined) {
    throw new Error(`the function ${name}() is not a test`)
  }
  const test = patternTest(name)
  // A pattern written in the path is compiled now, not with the first value.
  if (args[1] instanceof StringLiteral) test('', args[1].value)
  return (item, root) => test(subject(item, root), pattern(item, root))
}

/** The functions whose result is a value. */
function compileValue({ name, args }: InstanceType<typeof FunctionExtension>, compileWalk: CompileWalk): Operand {
  const [argument] = args
  if (name === 'count') return compileCount(argument, compileWalk, Number.POSITIVE_INFINITY)
  if (name === 'value' && argument instanceof FilterQuery) return compileOnly(argument, compileWalk)
  if (name === 'length' && argument !== undefined) {
    const operand = compileOperand(argument, compileWalk)
    return (item, root) => lengthOf(operand(item, root))
  }
  throw new Error(`the function ${name}() is not a value`)
}

function lengthOf(value: JsonValue | undefined): number | undefined {
  if (typeof value === 'string') return codePoints(value)
  if (typeof value !== 'object' || value === null) return undefined
  return Array.isArray(value) ? value.length : Object.keys(value).length
}
