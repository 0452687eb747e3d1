import { childPath, keysAreNames } from '../json/general-path.js'
import { isWorded, kindOf } from '../json/value-kind.js'
import { parseYaml } from '../text/parse-yaml.js'

/** A piece of a result: a value at a generalised path, or a key of a map whose keys are data. */
export interface Cell {
  readonly path: string
  readonly place: 'cell' | 'key'
  readonly value: string | number | boolean
}

export interface ReadResult {
  readonly cells: readonly Cell[]
  /** True if part of the result was left out. */
  readonly cut: boolean
}

export const RESULT_LIMITS = {
  cells: 20_000,
  depth: 32,
  /** Longer text is not parsed as YAML but stays free text. JSON is fast and needs no such limit. */
  yamlLength: 128 * 1024,
  pathLength: 256,
} as const

/** Splits a tool's result into cells. Text that is not JSON, nor a list or map in YAML, is one cell. */
export function readResult(result: unknown): ReadResult {
  const cells: Cell[] = []
  const cut = collect(typeof result === 'string' ? parseResultText(result) : result, '$', 0, cells)
  return { cells, cut }
}

/** Parses a result given as text: JSON, a list or map in YAML, or a list of short lines; otherwise the text itself. */
export function parseResultText(text: string): unknown {
  if (text.trim() === '') return text
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'number' && String(value) !== text.trim() ? text : value
  } catch {
    const value = parseYamlText(text)
    return value === text ? (parseList(text) ?? text) : value
  }
}

/** Values stay as written (`0012` is not a number). A scalar is text. Aliases are refused, so no bomb can unfold. */
function parseYamlText(text: string): unknown {
  if (text.length > RESULT_LIMITS.yamlLength || !/^\s*([-{[]|[\w$-]+:\s)/.test(text)) return text
  try {
    const document = parseYaml(text, { schema: 'failsafe', uniqueKeys: false, strict: false, logLevel: 'silent' })
    if (document === null || document.errors.length > 0) return text
    const value: unknown = document.toJS({ maxAliasCount: 0 })
    return typeof value === 'object' && value !== null ? value : text
  } catch {
    return text
  }
}

const LABEL = /^\s*(?:[-*•]\s*)?(?:[^:\n]{1,48}:\s+)?/

/** Two or more lines with one short value each, after a bullet or a label, are a list. Null otherwise. */
function parseList(text: string): string[] | null {
  if (text.length > RESULT_LIMITS.yamlLength) return null
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (lines.length < 2) return null
  const items: string[] = []
  for (const line of lines) {
    const item = line.replace(LABEL, '').trim()
    if (item !== '' && isWorded(kindOf(item))) return null
    if (item !== '') items.push(item)
  }
  return items
}

function collect(value: unknown, path: string, depth: number, cells: Cell[]): boolean {
  if (cells.length >= RESULT_LIMITS.cells) return true
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    cells.push({ path, place: 'cell', value })
    return false
  }
  if (typeof value !== 'object' || value === null) return false
  if (depth >= RESULT_LIMITS.depth || path.length > RESULT_LIMITS.pathLength - 32) return true
  if (Array.isArray(value)) return value.map((item) => collect(item, `${path}[*]`, depth + 1, cells)).includes(true)
  return collectFields(value, path, depth, cells)
}

function collectFields(value: object, path: string, depth: number, cells: Cell[]): boolean {
  const entries = Object.entries(value)
  if (keysAreNames(entries)) {
    return entries.map(([key, item]) => collect(item, childPath(path, key), depth + 1, cells)).includes(true)
  }
  let cut = false
  for (const [key, item] of entries) {
    if (cells.length >= RESULT_LIMITS.cells) return true
    cells.push({ path: `${path}.*`, place: 'key', value: key })
    cut = collect(item, `${path}.*`, depth + 1, cells) || cut
  }
  return cut
}
