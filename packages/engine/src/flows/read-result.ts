import { childPath, keysAreNames } from '../json/general-path.js'
import { parseResultText } from './result-text.js'

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
  pathLength: 256,
} as const

/** Splits a tool's result into cells. Text in no format that `parseResultText` knows is one cell. */
export function readResult(result: unknown): ReadResult {
  const cells: Cell[] = []
  const cut = collect(withoutEnvelope(typeof result === 'string' ? parseResultText(result) : result), '$', 0, cells)
  return { cells, cut }
}

/** As many servers of tools answer: the result is text, in parts. */
function withoutEnvelope(value: unknown): unknown {
  const parts = isObject(value) && Array.isArray(value.content) ? value.content : value
  if (!Array.isArray(parts) || parts.length === 0 || !parts.every(isTextPart)) return value
  const [first, ...others] = parts.map(({ text }) => parseResultText(text))
  return others.length === 0 ? first : [first, ...others]
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isTextPart = (part: unknown): part is { text: string } =>
  isObject(part) && part.type === 'text' && typeof part.text === 'string'

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
