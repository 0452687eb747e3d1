import { isWorded, kindOf } from '../json/value-kind.js'
import { parseYaml } from '../text/parse-yaml.js'
import { parseJsonLines, parsePython, parseTable } from './text-formats.js'

/** Longer text is read as JSON or stays free text. JSON is fast and needs no such limit. */
const READ_LENGTH = 128 * 1024

/**
 * Parses a result given as text: JSON, a list or map in YAML or as Python prints it, JSON in lines, a table, or a list of
 * short lines; also in a code fence. Otherwise the text itself.
 */
export function parseResultText(text: string): unknown {
  if (text.trim() === '') return text
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'number' && String(value) !== text.trim() ? text : value
  } catch {
    if (text.length > READ_LENGTH) return text
    const [, fenced] = FENCE.exec(text) ?? []
    if (fenced !== undefined && !fenced.includes('```')) {
      const inside = parseResultText(fenced)
      return typeof inside === 'object' && inside !== null ? inside : text
    }
    return (
      parseJsonLines(text) ?? parseYamlText(text) ?? parsePython(text) ?? parseTable(text) ?? parseList(text) ?? text
    )
  }
}

/** The whole text is one block of code. */
const FENCE = /^\s*```[\w-]{0,20}\n([\s\S]*)\n```\s*$/

/** Values stay as written (`0012` is not a number). A scalar is text. Aliases are refused, so no bomb can unfold. */
function parseYamlText(text: string): unknown {
  if (!/^\s*([-{[]|[\w$-]+:\s)/.test(text)) return null
  try {
    const document = parseYaml(text, { schema: 'failsafe', uniqueKeys: false, strict: false, logLevel: 'silent' })
    if (document === null || document.errors.length > 0) return null
    const value: unknown = document.toJS({ maxAliasCount: 0 })
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}

const LABEL = /^\s*(?:[-*•]\s*)?(?:[^:\n]{1,48}:\s+)?/

/** Two or more lines with one short value each, after a bullet or a label, are a list. Null otherwise. */
function parseList(text: string): string[] | null {
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
