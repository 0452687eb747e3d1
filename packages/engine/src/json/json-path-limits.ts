import { type JSONPathQuery, jsonpath } from 'json-p3'
import { patternProblem } from './json-path-regex.js'

/**
 * Why a path could cost more than a few passes over the value, or null. What multiplies the cost is refused: a second
 * `..`, a filter that searches the whole value again for each item, long unions in a row, patterns from the data.
 */
export function pathProblem(query: JSONPathQuery): string | null {
  const count = { descents: 0, selectors: 1 }
  const problem = queryProblem(query, count)
  if (problem !== null) return problem
  if (count.descents > 1) return 'the path has more than one `..`: name the steps between'
  if (count.selectors > MAX_UNION) return 'the path has too many selectors in its brackets: split it into several paths'
  return null
}

/** The product of the number of selectors in each bracket: how often one value can be visited. */
const MAX_UNION = 64

interface Count {
  descents: number
  selectors: number
}

const { FilterSelector } = jsonpath.selectors
const {
  FilterQuery,
  FunctionExtension,
  InfixExpression,
  LogicalExpression,
  PrefixExpression,
  RootQuery,
  StringLiteral,
} = jsonpath.expressions

function queryProblem(query: JSONPathQuery, count: Count): string | null {
  for (const segment of query.segments) {
    if (segment.token.kind === jsonpath.TokenKind.DDOT) count.descents++
    count.selectors *= segment.selectors.length
    for (const selector of segment.selectors) {
      if (!(selector instanceof FilterSelector)) continue
      const problem = filterProblem(selector.expression, count)
      if (problem !== null) return problem
    }
  }
  return null
}

type Expression = InstanceType<typeof jsonpath.expressions.FilterExpression>

function filterProblem(expression: Expression, count: Count): string | null {
  if (expression instanceof LogicalExpression) return filterProblem(expression.expression, count)
  if (expression instanceof PrefixExpression) return filterProblem(expression.right, count)
  if (expression instanceof InfixExpression) {
    return filterProblem(expression.left, count) ?? filterProblem(expression.right, count)
  }
  if (expression instanceof FilterQuery) {
    if (expression instanceof RootQuery && !expression.path.singularQuery()) {
      return 'a query from `$` inside a filter must name one value'
    }
    return queryProblem(expression.path, count)
  }
  if (expression instanceof FunctionExtension) return functionProblem(expression, count)
  return null
}

function functionProblem(call: InstanceType<typeof FunctionExtension>, count: Count): string | null {
  const takesPattern = call.name === 'match' || call.name === 'search'
  if (takesPattern) {
    const [, pattern] = call.args
    if (!(pattern instanceof StringLiteral)) return `the pattern of ${call.name}() must be written in the path`
    const problem = patternProblem(pattern.value)
    if (problem !== null) return `the pattern of ${call.name}() can match nothing: ${problem}`
  }
  for (const argument of call.args) {
    const problem = filterProblem(argument, count)
    if (problem !== null) return problem
  }
  return null
}
