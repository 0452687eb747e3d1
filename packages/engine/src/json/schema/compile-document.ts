import type { JsonObject, JsonValue } from '@countersign/protocol'
import { suggestName } from '../../text/closest-name.js'
import { compileRegex } from '../../text/regex.js'
import { BRANCH_KEYWORDS } from './branch-keywords.js'
import { type Keyword, type Operand, type SchemaNode, TAKES } from './keyword.js'
import { PART_KEYWORDS, UNEVALUATED_KEYWORDS } from './part-keywords.js'
import type { Located, SchemaDocument } from './schema-document.js'
import { allOf, type Check, fail, isObject } from './schema-run.js'
import { VALUE_KEYWORDS } from './value-keywords.js'

/** In the order in which problems are reported. */
const KEYWORDS: ReadonlyMap<string, Keyword> = new Map<string, Keyword>(
  [VALUE_KEYWORDS, BRANCH_KEYWORDS, PART_KEYWORDS, UNEVALUATED_KEYWORDS].flatMap((some) => Object.entries(some)),
)

/** Keywords that say nothing about a value by themselves. */
const SILENT: ReadonlyMap<string, Operand> = new Map([
  ...named(TAKES.string, ['$schema', '$id', '$anchor', '$comment', 'title', 'description']),
  ...named(TAKES.string, ['contentMediaType', 'contentEncoding']),
  ...named(TAKES.boolean, ['deprecated', 'readOnly', 'writeOnly', 'nullable']),
  ...named(TAKES.schema, ['then', 'else', 'contentSchema']),
  ...named(TAKES.namedSchemas, ['$defs', 'definitions']),
  ...named(TAKES.count, ['minContains', 'maxContains']),
  ...named(TAKES.anything, ['default']),
  ...named(TAKES.list, ['examples']),
  ...named(TAKES.namedFlags, ['$vocabulary']),
])

function named(takes: Operand, names: readonly string[]): [string, Operand][] {
  return names.map((name) => [name, takes])
}

type Matches = (text: string) => boolean

/** A schema may refer to itself; without end only if it is wrong. Values nest less deeply. */
const MAX_DEPTH = 1_000
/** About a second. No value within the limits needs as many. */
export const MOST_REFERENCES = 100_000

/** Compiles a schema and all it refers to into one check. Throws with what is wrong with it. */
export function compileDocument(document: SchemaDocument): Check {
  const compiled = new Map<string, Map<JsonValue, Check>>()
  const patterns = new Map<string, Matches>()
  // References wait until the rest is compiled: they may form circles, and chains of any length.
  const waiting: (() => void)[] = []
  const check = compileWithin(document.root)
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) next()
  return check

  function compileWithin({ schema, base }: Located): Check {
    if (schema === true) return anything
    if (schema === false) return nothing
    if (!isObject(schema)) throw new Error(`${JSON.stringify(schema)} is not a schema: write an object, true or false`)
    const known = compiled.get(base)
    const made = known?.get(schema) ?? compileNode(schema, base)
    if (known === undefined) compiled.set(base, new Map([[schema, made]]))
    else known.set(schema, made)
    return made
  }

  function compileNode(schema: JsonObject, base: string): Check {
    checkKeywords(schema)
    const node: SchemaNode = {
      schema,
      compile: (subschema) => compileWithin(document.locate(subschema, base)),
      compileReference: (reference) => follow(reference, base),
      compilePattern,
    }
    const checks: Check[] = []
    for (const [name, keyword] of KEYWORDS) {
      if (!Object.hasOwn(schema, name)) continue
      const built = keyword.build(schema[name] as JsonValue, node)
      if (built !== null) checks.push(built)
    }
    return allOf(checks)
  }

  function compilePattern(pattern: string): Matches {
    const known = patterns.get(pattern)
    if (known !== undefined) return known
    let test: Matches | null = null
    waiting.push(() => {
      const regex = compileRegex(pattern)
      if (!regex.ok) throw new Error(regex.problem)
      test = regex.test
    })
    const matches: Matches = (text) => (test as Matches)(text)
    patterns.set(pattern, matches)
    return matches
  }

  function follow(reference: string, base: string): Check {
    let meant = nothing
    waiting.push(() => {
      meant = compileWithin(document.resolve(reference, base))
    })
    return (value, run, place, seen) => {
      if (++run.followed.count > MOST_REFERENCES) return false
      if (run.depth >= MAX_DEPTH) {
        const message = 'the schema refers to itself without end'
        return fail(run, place, () => ({ keyword: '$ref', expected: reference, found: null, message }))
      }
      run.depth++
      const isValid = meant(value, run, place, seen)
      run.depth--
      return isValid
    }
  }
}

const anything: Check = () => true

const nothing: Check = (value, run, place) =>
  fail(run, place, () => ({
    keyword: 'false schema',
    expected: false,
    found: value,
    message: 'boolean schema is false',
  }))

/** Refuses what the standard ignores: its author meant something by it. */
function checkKeywords(schema: JsonObject): void {
  for (const [name, operand] of Object.entries(schema)) {
    const takes = KEYWORDS.get(name)?.takes ?? SILENT.get(name)
    if (takes === undefined) throw new Error(unknownKeyword(name))
    if (!takes.accepts(operand)) throw new Error(`"${name}" must be ${takes.name}`)
  }
  const problem = contradictionOf(schema)
  if (problem !== null) throw new Error(problem)
}

function unknownKeyword(name: string): string {
  if (UNSUPPORTED.has(name)) return `"${name}" is not supported: use $ref and $anchor`
  return `unknown keyword "${name}": ${suggestName(name, [...KEYWORDS.keys(), ...SILENT.keys()])}`
}

const UNSUPPORTED: ReadonlySet<string> = new Set(['$dynamicRef', '$dynamicAnchor', '$recursiveRef', '$recursiveAnchor'])

function contradictionOf(schema: JsonObject): string | null {
  const has = (name: string): boolean => Object.hasOwn(schema, name)
  if (has('if') && !has('then') && !has('else')) return '"if" has no effect without "then" or "else"'
  if (!has('if') && (has('then') || has('else'))) return '"then" and "else" have no effect without "if"'
  if (has('nullable') && !has('type')) return '"nullable" has no effect without "type"'
  if (schema.nullable === false && [schema.type].flat().includes('null')) return '"nullable" contradicts the type null'
  if (!has('minContains') && !has('maxContains')) return null
  if (!has('contains')) return '"minContains" and "maxContains" have no effect without "contains"'
  const [least, most] = [schema.minContains ?? 1, schema.maxContains]
  if (typeof most === 'number' && Number(least) > most) return '"minContains" is above "maxContains": nothing is valid'
  return least === 0 && most === undefined ? '"contains" has no effect with "minContains" 0 and no "maxContains"' : null
}
