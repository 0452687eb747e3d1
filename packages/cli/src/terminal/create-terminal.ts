import type { Terminal } from './command.js'

interface Output {
  write(text: string): unknown
}

/**
 * Escapes control characters, because names and texts come from models and from anyone with a key, and could otherwise
 * erase the lines above them. The escapes are those of JSON, so JSON output keeps its meaning.
 */
export function createTerminal(stdout: Output, stderr: Output): Terminal {
  return {
    print: (line) => void stdout.write(`${escaped(line)}\n`),
    note: (line) => void stderr.write(`${escaped(line)}\n`),
  }
}

const escaped = (line: string): string =>
  line.toWellFormed().replaceAll(UNSAFE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Control characters except tab and line feed, characters that reverse text, and invisible ones. */
const UNSAFE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it must find
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g
