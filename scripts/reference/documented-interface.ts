/** Lines of documentation by member name. */
export type MemberDocs = ReadonlyMap<string, readonly string[]>

/** A TypeScript source in which every member of an interface carries its documentation as TSDoc. */
export function withMemberDocs(source: string, name: string, docs: MemberDocs): string {
  const [whole, head, body] =
    new RegExp(`(export interface ${name}\\b[^\\n]*\\{\\n)([\\s\\S]*?)^\\}`, 'm').exec(source) ?? []
  if (whole === undefined || head === undefined || body === undefined) throw new Error(`there is no interface ${name}`)
  const bare = body.replaceAll(/^ *\/\*\*[\s\S]*?\*\/\n/gm, '')
  const documented = bare.replaceAll(/^ {2}(?:readonly )?(\w+)\??:/gm, (line, member: string) => {
    const lines = docs.get(member)
    if (lines === undefined) throw new Error(`${name}.${member} has no documentation`)
    return `${comment(lines)}\n${line}`
  })
  return source.replace(whole, () => `${head}${documented}}`)
}

const LINE_LENGTH = 120

function comment(lines: readonly string[]): string {
  const [only] = lines
  const short = `  /** ${only} */`
  if (lines.length === 1 && short.length <= LINE_LENGTH) return short
  return ['  /**', ...lines.flatMap(wrap).map((line) => `   * ${line}`), '   */'].join('\n')
}

function wrap(text: string): string[] {
  const indent = text.startsWith('- ') ? '  ' : ''
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && `   * ${line} ${word}`.length > LINE_LENGTH) {
      lines.push(line)
      line = `${indent}${word}`
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line]
}
