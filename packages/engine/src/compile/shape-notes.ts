import { type contractSchema, REFUSED_KEYS } from '@countersign/protocol'
import { lookUp } from '../json/look-up.js'
import { closestName } from '../text/closest-name.js'
import type { ReadSource } from './read-source.js'
import type { CompileNote } from './report/compile-note.js'
import { writePlace } from './report/compile-note.js'
import { FIXES } from './report/fixes.js'

type Issue = NonNullable<ReturnType<typeof contractSchema.safeParse>['error']>['issues'][number]
type Path = readonly (string | number)[]

/** Turns the issues of a schema check into notes with file, line and fix. */
export function shapeNotes(issues: readonly Issue[], source: ReadSource, schema: unknown): CompileNote[] {
  const notes = issues.slice(0, MAX_NOTES).flatMap((issue) => notesOf(issue, [], source, schema as SchemaNode))
  return notes.slice(0, MAX_NOTES)
}

const WHEN_RULES =
  'remove it, or put it on an item of preconditions, argument_value_invariants, refs, sources, aggregates, envelopes, labels, checkpoint, shared_limits or hours'

/** More are not fixed at once, and every note looks up its line. */
const MAX_NOTES = 50

function notesOf(issue: Issue, base: Path, source: ReadSource, schema: SchemaNode): CompileNote[] {
  const path = [...base, ...issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step))]
  const note = (at: Path, message: string, fix: string): CompileNote => ({
    file: source.file,
    line: source.lineAt(at),
    path: writePlace(at),
    message,
    fix,
  })
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(schema, path)
    return issue.keys.slice(0, MAX_NOTES).map((key) => {
      const refused = path.length === 0 && known.includes('tool') ? lookUp<string>(REFUSED_KEYS, key) : undefined
      if (refused !== undefined) return note([key], `\`${key}\` would not be enforced`, refused)
      if (key === 'when')
        return note([...path, key], 'unknown key "when": it stands on rules that restrict', WHEN_RULES)
      return note([...path, key], `unknown key "${key}"`, fixForKey(key, known))
    })
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const branch = likeliestBranch((issue.errors as Issue[][]).map((errors) => errors.slice(0, MAX_NOTES)))
    return branch.flatMap((inner) => notesOf(inner, path, source, schema))
  }
  if (issue.code === 'invalid_value') {
    const values = issue.values.map((value) => JSON.stringify(value)).join(', ')
    return [note(path, `the value is not one of ${values}`, fixForValue(valueAt(source.value, path), issue.values))]
  }
  if (issue.code === 'invalid_type') {
    const found = valueAt(source.value, path)
    const kind = KINDS[issue.expected] ?? { name: issue.expected, how: FIXES.value }
    if (path.length === 0 && found === null)
      return [note(path, 'the file is empty', 'write a contract, or remove the file')]
    if (found === undefined) return [note(path, `the key "${path.at(-1) ?? ''}" is missing`, `add it: ${kind.name}`)]
    return [note(path, sentence(issue.message), kind.how)]
  }
  return [note(path, sentence(issue.message), FIXES.value)]
}

/** What is expected, in terms of YAML. */
const KINDS: Readonly<Record<string, { readonly name: string; readonly how: string }>> = {
  string: { name: 'text', how: 'write text, in quotes if it looks like something else' },
  number: { name: 'a number', how: 'write a number without quotes' },
  boolean: { name: 'true or false', how: 'write true or false without quotes' },
  array: { name: 'a list', how: 'write a list: each item on its own line after "- ", or all in [ ]' },
  object: { name: 'keys with values', how: 'write keys with values, such as tool: pay' },
}

function fixForKey(key: string, known: readonly string[]): string {
  const closest = closestName(key, known)
  if (closest !== null) return `did you mean "${closest}"?`
  return known.length === 0 ? 'remove it' : `remove it, or use one of ${known.join(', ')}`
}

function fixForValue(found: unknown, values: readonly unknown[]): string {
  const closest = typeof found === 'string' ? closestName(found, values.map(String)) : null
  return closest === null ? 'use one of these' : `did you mean "${closest}"?`
}

const sentence = (message: string): string => message.charAt(0).toLowerCase() + message.slice(1)

/** The branch of a union that the author most likely meant: the right type, and wrong as deep as possible. */
function likeliestBranch(branches: readonly Issue[][]): readonly Issue[] {
  const score = (issues: readonly Issue[]) => {
    const wrongKind = issues.some((issue) => issue.code === 'invalid_type' && issue.path.length === 0)
    const depth = Math.max(...issues.map((issue) => issue.path.length))
    return (wrongKind ? 1_000 : 0) - depth + issues.length / 100
  }
  return [...branches].sort((a, b) => score(a) - score(b))[0] ?? []
}

function valueAt(value: unknown, path: Path): unknown {
  let found = value
  for (const step of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined
    found = (found as Record<string | number, unknown>)[step]
  }
  return found
}

/** The part of a schema definition needed to list the keys at a path. */
interface SchemaNode {
  readonly def: {
    readonly shape?: Readonly<Record<string, SchemaNode>>
    readonly element?: SchemaNode
    readonly innerType?: SchemaNode
    readonly valueType?: SchemaNode
    readonly options?: readonly SchemaNode[]
  }
}

function keysAt(schema: SchemaNode, path: Path): string[] {
  const { def } = schema
  if (def.innerType !== undefined) return keysAt(def.innerType, path)
  if (def.options !== undefined) return [...new Set(def.options.flatMap((option) => keysAt(option, path)))]
  const [step, ...rest] = path
  if (step === undefined) return def.shape === undefined ? [] : Object.keys(def.shape)
  const child = typeof step === 'number' ? def.element : (def.shape?.[step] ?? def.valueType)
  return child === undefined ? [] : keysAt(child, rest)
}
