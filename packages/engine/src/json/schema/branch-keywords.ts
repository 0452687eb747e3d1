import type { JsonObject, JsonValue } from '@countersign/protocol'
import { type Keyword, type SchemaNode, TAKES } from './keyword.js'
import {
  allOf,
  branchOf,
  type Check,
  type Evaluated,
  fail,
  merge,
  type Place,
  quietly,
  type Run,
  tentatively,
} from './schema-run.js'

/** The keywords that check the same value against other schemas. */
export const BRANCH_KEYWORDS = {
  $ref: {
    takes: TAKES.string,
    build: (operand, { compileReference }) => inBranch(compileReference(operand as string)),
  },
  not: {
    takes: TAKES.schema,
    build: (operand, { compile }) => {
      const check = compile(operand)
      return (value, run, place, seen) => {
        const quiet = quietly(run)
        if (!check(value, quiet, null, branchOf(seen))) return true
        return fail(run, place, () => ({
          keyword: 'not',
          expected: operand,
          found: value,
          message: 'must NOT be valid',
        }))
      }
    },
  },
  anyOf: {
    takes: TAKES.schemas,
    build: (operand, node) =>
      checkBranches('anyOf', operand, node, {
        isEnough: (valid) => valid >= 1,
        mayStop: (valid) => valid >= 1,
        message: 'must match a schema in anyOf',
      }),
  },
  oneOf: {
    takes: TAKES.schemas,
    build: (operand, node) =>
      checkBranches('oneOf', operand, node, {
        isEnough: (valid) => valid === 1,
        mayStop: (valid) => valid > 1,
        message: 'must match exactly one schema in oneOf',
      }),
  },
  allOf: {
    takes: TAKES.schemas,
    build: (operand, { compile }) => {
      return allOf((operand as JsonValue[]).map((schema) => inBranch(compile(schema))))
    },
  },
  if: { takes: TAKES.schema, build: checkIf },
} as const satisfies Record<string, Keyword>

/** What a branch has evaluated counts if it is valid. */
function inBranch(check: Check): Check {
  return (value, run, place, seen) => {
    if (seen === null) return check(value, run, place, null)
    const branch = branchOf(seen)
    const isValid = check(value, run, place, branch)
    if (isValid) merge(seen, branch)
    return isValid
  }
}

interface Choice {
  isEnough(valid: number): boolean
  /** More branches cannot change the verdict. */
  mayStop(valid: number): boolean
  readonly message: string
}

function checkBranches(keyword: string, operand: JsonValue, { compile }: SchemaNode, choice: Choice): Check {
  const checks = (operand as JsonValue[]).map((schema) => inBranch(compile(schema)))
  const { isEnough, mayStop, message } = choice
  return (value, run, place, seen) =>
    tentatively(run, () => {
      let valid = 0
      for (const check of checks) {
        if (check(value, run, place, seen)) valid++
        if (seen === null && mayStop(valid)) break
      }
      if (isEnough(valid)) return true
      return fail(run, place, () => ({ keyword, expected: operand, found: value, message }))
    })
}

function checkIf(operand: JsonValue, { schema, compile }: SchemaNode): Check {
  const condition = inBranch(compile(operand))
  const then = clauseOf(schema, 'then', compile)
  const otherwise = clauseOf(schema, 'else', compile)
  return (value: JsonValue, run: Run, place: Place, seen: Evaluated | null) => {
    const quiet = quietly(run)
    const clause = condition(value, quiet, null, seen) ? then : otherwise
    if (clause === null || clause.check(value, run, place, seen)) return true
    const message = `must match "${clause.name}" schema`
    return fail(run, place, () => ({ keyword: 'if', expected: operand, found: value, message }))
  }
}

function clauseOf(schema: JsonObject, name: 'then' | 'else', compile: SchemaNode['compile']) {
  const clause = schema[name]
  return clause === undefined ? null : { name, check: inBranch(compile(clause)) }
}
