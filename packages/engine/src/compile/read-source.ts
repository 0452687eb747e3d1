import { type JsonValue, LIMITS } from '@countersign/protocol'
import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  type Scalar,
  visit,
  type YAMLError,
  type YAMLMap,
} from 'yaml'
import { checkStrictValue } from '../json/strict-json.js'
import { parseYaml } from '../text/parse-yaml.js'
import type { CompileNote } from './report/compile-note.js'
import { FIXES } from './report/fixes.js'

/** A contract or a session definition: its text in YAML or JSON, or the object itself. */
export interface ContractSource {
  readonly file: string
  readonly text?: string | undefined
  readonly value?: unknown
}

export interface ReadSource {
  /** A file path, or a name for a source given as an object. */
  readonly file: string
  readonly isFile: boolean
  readonly value: JsonValue
  /** The line of the deepest part of the path that exists in the file; null for objects. */
  lineAt(path: readonly (string | number)[]): number | null
}

/** A source and what it was compiled into. */
export interface CompiledSource<T> {
  readonly source: ReadSource
  readonly compiled: T
}

export type SourceReading = { ok: true; source: ReadSource } | { ok: false; notes: CompileNote[] }

/** Reads a source into plain JSON. YAML that is more than JSON (aliases without end, tags, odd keys) is refused. */
export function readSource(source: ContractSource): SourceReading {
  const { file } = source
  const fail = (message: string, fix: string, line: number | null = null): SourceReading => ({
    ok: false,
    notes: [{ file, line, path: '', message, fix }],
  })
  if (source.text === undefined) {
    const problem = checkStrictValue(source.value)
    if (problem !== null)
      return fail(`the value is not plain JSON: ${problem}`, 'pass plain objects, arrays and scalars')
    // A copy: the program may change its object later, and the plan must stay what its hash says.
    const value = structuredClone(source.value) as JsonValue
    return { ok: true, source: { file, isFile: false, value, lineAt: () => null } }
  }
  if (Buffer.byteLength(source.text) > LIMITS.planBytes) {
    return fail(`the file is larger than ${LIMITS.planBytes} bytes`, 'split it into several files')
  }
  const lines = new LineCounter()
  try {
    const document = parseYaml(source.text, { stringKeys: true, uniqueKeys: false }, lines)
    if (document === null) return fail('the file is nested too deeply', 'flatten it', 1)
    const faults = firstOfLines([...document.errors, ...document.warnings], lines)
    if (faults.length > 0) {
      const text = source.text.split('\n')
      const notes = faults.map(([line, { code, message }]) => {
        const fix = UNQUOTED_PATH.test(text[line - 1]?.slice(0, LONGEST_LINE) ?? '') ? FIXES.quotes : FIXES.syntax
        return { file, line, path: '', ...(FAULTS[code] ?? { message: firstLine(message), fix }) }
      })
      return { ok: false, notes }
    }
    const twice = repeatedKey(document)
    if (twice !== null) {
      return fail('a key occurs twice in the same map', FIXES.repeated, lineOf(twice, lines))
    }
    // Anchors may share parts, but not multiply them.
    const value = document.toJS({ maxAliasCount: 100 })
    const problem = checkStrictValue(value)
    if (problem !== null) return fail(problem, 'use plain JSON values only', 1)
    return { ok: true, source: { file, isFile: true, value, lineAt: lineFinder(document, lines) } }
  } catch (error) {
    const reason = error instanceof RangeError ? 'it is nested too deeply' : firstLine(String((error as Error).message))
    return fail(`the file cannot be read: ${reason}`, 'remove nested aliases and deep nesting', 1)
  }
}

/** The first key that occurs twice in its map. The library would compare each key with all previous ones. */
function repeatedKey(document: Document): unknown {
  let twice: unknown = null
  visit(document, {
    Map(_step, { items }) {
      const seen = new Set<string | object>()
      for (const { key } of items) {
        const name = isScalar(key) ? nameOf(key) : (key as object)
        if (seen.has(name)) {
          twice = key
          return visit.BREAK
        }
        seen.add(name)
      }
      return undefined
    },
  })
  return twice
}

/** As JSON names it: the keys `1` and `"1"` are one. */
const nameOf = ({ value }: Scalar): string => String(value)

/** Finds lines by path. The keys of a map are listed when it is first asked for: hundreds of notes may be about one. */
function lineFinder(document: Document, lines: LineCounter): ReadSource['lineAt'] {
  const listed = new Map<object, ReadonlyMap<string | object, Pair>>()
  const pairsOf = (map: YAMLMap): ReadonlyMap<string | object, Pair> => {
    const known =
      listed.get(map) ?? new Map(map.items.map((pair) => [isScalar(pair.key) ? nameOf(pair.key) : pair, pair]))
    listed.set(map, known)
    return known
  }
  return (path) => {
    let node: unknown = document.contents
    let line = lineOf(node, lines)
    for (const step of path) {
      const next = childOf(node, step, pairsOf)
      if (next === null) break
      line = next.line === null ? line : (lineOf(next.line, lines) ?? line)
      node = next.node
    }
    return line
  }
}

/** The child of a node under a key or index, and the node that gives its line: for a key, the key itself. */
function childOf(
  node: unknown,
  step: string | number,
  pairsOf: (map: YAMLMap) => ReadonlyMap<string | object, Pair>,
): { node: unknown; line: unknown } | null {
  if (isSeq(node)) {
    const item = typeof step === 'number' ? node.items[step] : undefined
    return item === undefined ? null : { node: item, line: item }
  }
  const pair = isMap(node) ? pairsOf(node).get(String(step)) : undefined
  return pair === undefined ? null : { node: pair.value, line: pair.key }
}

function lineOf(node: unknown, lines: LineCounter): number | null {
  const range = (node as Node | null)?.range
  return range === undefined || range === null ? null : lines.linePos(range[0]).line
}

/** The first fault of each line: one mistake in YAML causes many. */
function firstOfLines<Fault extends YAMLError>(faults: readonly Fault[], lines: LineCounter): [number, Fault][] {
  const first = new Map<number, Fault>()
  for (const fault of faults) {
    const { line } = lines.linePos(fault.pos[0])
    if (!first.has(line)) first.set(line, fault)
    if (first.size === MAX_FAULTS) break
  }
  return [...first]
}

const MAX_FAULTS = 5

/** A path with brackets, which YAML takes for a list. */
const UNQUOTED_PATH = /[\s,{[]\$[^\s"',]*\[/
const LONGEST_LINE = 1_024

/** Errors whose message in the library is meant for its callers. */
const FAULTS: Readonly<Record<string, { readonly message: string; readonly fix: string }>> = {
  MULTIPLE_DOCS: {
    message: 'the file holds more than one document',
    fix: 'write one document per file; split it at ---',
  },
}

const firstLine = (text: string): string => text.split('\n')[0] ?? text
