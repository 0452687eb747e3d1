import { LIMITS } from '@countersign/protocol'
import {
  Composer,
  type CST,
  type Document,
  type DocumentOptions,
  Lexer,
  type LineCounter,
  type ParseOptions,
  Parser,
  type SchemaOptions,
  YAMLParseError,
} from 'yaml'

/** The composer recurses at every level, and a stack overflow inside a pattern ends the process. */
const MAX_DEPTH = 2 * LIMITS.jsonDepth

/**
 * Parses one YAML document; null if it is nested too deeply. Errors carry only `pos`: showing the line with each of
 * them takes minutes if the line is long and has many.
 */
export function parseYaml(
  text: string,
  options: ParseOptions & DocumentOptions & SchemaOptions,
  lines?: LineCounter,
): Document.Parsed | null {
  const tokens = tokensOf(text, lines)
  if (tokens === null) return null
  const [document, second] = withoutStacks(() => [...new Composer(options).compose(tokens, true, text.length)])
  if (document !== undefined && second !== undefined && options.logLevel !== 'silent')
    document.errors.push(new YAMLParseError([second.range[0], second.range[1]], 'MULTIPLE_DOCS', 'a second document'))
  return document ?? null
}

/** A text may have an error at every character, and V8 takes 20 microseconds for the stack of each. */
function withoutStacks<Result>(work: () => Result): Result {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return work()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** Counted on the parser's own stack, so it cannot overflow ours. */
function tokensOf(text: string, lines: LineCounter | undefined): CST.Token[] | null {
  const parser = new Parser(lines?.addNewLine)
  const tokens: CST.Token[] = []
  lines?.addNewLine(0)
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) tokens.push(token)
    if (parser.stack.length > MAX_DEPTH) return null
  }
  for (const token of parser.end()) tokens.push(token)
  return tokens
}
