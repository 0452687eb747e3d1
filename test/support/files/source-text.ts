/**
 * A TypeScript source in two views of equal length and lines, so that a position in one is a position in the other:
 * `code` without comments, and `bare` without comments and without the insides of strings, templates and regexes.
 * TypeScript 7 has no stable API, and the checks need no more than this.
 */
export interface SourceText {
  readonly code: string
  readonly bare: string
}

export function sourceText(source: string): SourceText {
  const code = source.split('')
  const bare = source.split('')
  const blank = (view: string[], from: number, to: number) => {
    for (let at = from; at < to; at++) if (view[at] !== '\n') view[at] = ' '
  }
  const lexer: Lexer = {
    source,
    comment: (from, to) => {
      blank(code, from, to)
      blank(bare, from, to)
    },
    literal: (from, to) => blank(bare, from, to),
  }
  let at = 0
  while (at < source.length) at = readCode(lexer, at)
  return { code: code.join(''), bare: bare.join('') }
}

/** The quoted strings of a source, without escapes resolved, and where each begins. */
export function stringLiterals({ code, bare }: SourceText, from = 0, to = bare.length): StringLiteral[] {
  const found: StringLiteral[] = []
  for (const match of bare.slice(from, to).matchAll(/(['"])( *)\1/g)) {
    const at = from + match.index
    found.push({ at, value: code.slice(at + 1, at + 1 + (match[2]?.length ?? 0)) })
  }
  return found
}

export interface StringLiteral {
  readonly at: number
  readonly value: string
}

interface Lexer {
  readonly source: string
  comment(from: number, to: number): void
  literal(from: number, to: number): void
}

/** Reads code up to its end, or up to the brace that closes a template's `${`. */
function readCode(lexer: Lexer, from: number): number {
  const { source } = lexer
  let depth = 0
  let at = from
  while (at < source.length) {
    const char = source[at]
    if (char === '/' && source[at + 1] === '/') at = readComment(lexer, at, '\n')
    else if (char === '/' && source[at + 1] === '*') at = readComment(lexer, at, '*/')
    else if (char === "'" || char === '"') at = readString(lexer, at, char)
    else if (char === '`') at = readTemplate(lexer, at)
    else if (char === '/' && startsRegex(source, at)) at = readRegex(lexer, at)
    else {
      if (char === '{') depth++
      if (char === '}' && --depth < 0) return at + 1
      at++
    }
  }
  return at
}

function readComment({ source, comment }: Lexer, from: number, end: string): number {
  const at = source.indexOf(end, from + 2)
  const to = at < 0 ? source.length : end === '\n' ? at : at + end.length
  comment(from, to)
  return to
}

/** A quote with no partner on its line is an apostrophe in the text of a JSX element. */
function readString({ source, literal }: Lexer, from: number, quote: string): number {
  let at = from + 1
  while (at < source.length && source[at] !== quote) {
    if (source[at] === '\n') return from + 1
    at += source[at] === '\\' ? 2 : 1
  }
  literal(from + 1, at)
  return at + 1
}

function readTemplate(lexer: Lexer, from: number): number {
  const { source, literal } = lexer
  let at = from + 1
  let textFrom = at
  while (at < source.length && source[at] !== '`') {
    if (source[at] === '$' && source[at + 1] === '{') {
      literal(textFrom, at)
      at = readCode(lexer, at + 2)
      textFrom = at
    } else at += source[at] === '\\' ? 2 : 1
  }
  literal(textFrom, at)
  return at + 1
}

function readRegex({ source, literal }: Lexer, from: number): number {
  let inClass = false
  let at = from + 1
  while (at < source.length && (inClass || source[at] !== '/')) {
    if (source[at] === '\n') return from + 1
    if (source[at] === '[') inClass = true
    if (source[at] === ']') inClass = false
    at += source[at] === '\\' ? 2 : 1
  }
  literal(from + 1, at)
  return at + 1
}

/** A slash divides after a value and opens a regex everywhere else; `<` is the start of a closing tag. */
function startsRegex(source: string, at: number): boolean {
  const before = source.slice(Math.max(0, at - 40), at).trimEnd()
  return before === '' || /[([{},;:=!&|?+*%~^>-]$/.test(before) || /\b(?:return|typeof|case|in|of)$/.test(before)
}
