import type { Terminal } from './command.js'

interface Output {
  write(text: string): unknown
}

/**
 * Lines as a terminal shows them: names and texts come from models and from whoever has a key, and one with control
 * characters could erase the lines above it. They are written as JSON escapes them, so that JSON stays what it is.
 */
export function createTerminal(stdout: Output, stderr: Output): Terminal {
  return {
    print: (line) => void stdout.write(`${shown(line)}\n`),
    note: (line) => void stderr.write(`${shown(line)}\n`),
  }
}

const shown = (line: string): string =>
  line.toWellFormed().replaceAll(ACTING, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Control characters but tab and line feed, those that turn text round, and those that nobody sees. */
const ACTING =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g
