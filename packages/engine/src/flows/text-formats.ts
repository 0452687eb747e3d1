const PYTHON_TOKEN =
  /\s+|'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*"|-?\d[\d.eE+-]*|True\b|False\b|None\b|[[\]{}(),:]/y
const PYTHON_WORDS = new Map([
  ['True', 'true'],
  ['False', 'false'],
  ['None', 'null'],
  ['(', '['],
  [')', ']'],
])

/** Lists, tuples and maps with keys in quotes, as Python prints them. Null for any other text. */
export function parsePython(text: string): object | null {
  if (!/^\s*[[{(]/.test(text)) return null
  const json: string[] = []
  PYTHON_TOKEN.lastIndex = 0
  while (PYTHON_TOKEN.lastIndex < text.length) {
    const token = PYTHON_TOKEN.exec(text)?.[0]
    if (token === undefined) return null
    json.push(/^['"]/.test(token) ? JSON.stringify(unquoted(token)) : (PYTHON_WORDS.get(token) ?? token))
  }
  return parseObject(json.join(''))
}

const ESCAPE = /\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|([\s\S]))/gi
const ESCAPED = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
])

const unquoted = (token: string): string =>
  token.slice(1, -1).replaceAll(ESCAPE, (whole, ...groups: (string | undefined)[]) => {
    const [byte, short, long, plain] = groups
    if (plain !== undefined) return ESCAPED.get(plain) ?? plain
    const code = Number.parseInt(byte ?? short ?? long ?? '', 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })

/** One object a line. Null for any other text. */
export function parseJsonLines(text: string): object[] | null {
  if (!/^\s*\{/.test(text)) return null
  const rows: object[] = []
  for (const line of text.split('\n')) {
    const row = line.trim() === '' ? [] : parseObject(line)
    if (row === null) return null
    if (line.trim() !== '') rows.push(row)
  }
  return rows
}

function parseObject(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}

const RULE = /^\|(?:\s*:?-+:?\s*\|)+$/

/** A table in Markdown with as many cells in each row as in its head. Null for any other text. */
export function parseTable(text: string): Record<string, string>[] | null {
  const lines = text.trim().split('\n')
  if (!lines.every((line) => line.startsWith('|') && line.endsWith('|')) || !RULE.test(lines[1] ?? '')) return null
  const [names = [], , ...rows] = lines.map(cellsOf)
  if (rows.length === 0 || new Set(names).size < names.length) return null
  if (!rows.every((cells) => cells.length === names.length)) return null
  return rows.map((cells) => Object.fromEntries(names.map((name, at) => [name, cells[at] ?? ''])))
}

const cellsOf = (line: string): string[] =>
  line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.replaceAll('\\|', '|').trim())
