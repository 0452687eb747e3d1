const WIDTH = 140

/**
 * A file of test/cases as it should look: a case opens into its members and a step is a line; what does not fit into
 * the width opens further. Changes nothing but white space: every string and number stays as it was written.
 */
export function formatCaseFile(text: string): string {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? []
  return `${print(readValue(tokens.values()))}\n`
}

/** A literal as written, or what stands between the braces; the key of an object's member comes with its value. */
type Written = string | { readonly open: '{' | '['; readonly members: readonly Member[] }
interface Member {
  readonly key: string
  readonly value: Written
}

function readValue(tokens: Iterator<string>, first = take(tokens)): Written {
  if (first !== '{' && first !== '[') return first
  const members: Member[] = []
  for (let token = take(tokens); token !== '}' && token !== ']'; token = take(tokens)) {
    const next = token === ',' ? take(tokens) : token
    if (first === '{') take(tokens)
    members.push(
      first === '{' ? { key: `${next}: `, value: readValue(tokens) } : { key: '', value: readValue(tokens, next) },
    )
  }
  return { open: first, members }
}

function take(tokens: Iterator<string>): string {
  const { value, done } = tokens.next()
  if (done === true) throw new Error('the JSON ends too early')
  return value
}

/** Opened even where they would fit into a line, so that a case is a block and a step is a line. */
const ALWAYS_OPEN: ReadonlySet<string> = new Set(['', '.cases', '.cases[]', '.cases[].steps'])

function print(value: Written, path = '', indent = '', column = 0): string {
  const flat = printFlat(value)
  if (typeof value === 'string' || value.members.length === 0) return flat
  // One more column for the comma that may follow.
  if (!ALWAYS_OPEN.has(path) && column + flat.length + 1 <= WIDTH) return flat
  const inner = `${indent}  `
  const lines = value.members.map((member) => {
    const memberPath = value.open === '[' ? `${path}[]` : `${path}.${member.key.slice(1, -3)}`
    return `${inner}${member.key}${print(member.value, memberPath, inner, inner.length + member.key.length)}`
  })
  return `${value.open}\n${lines.join(',\n')}\n${indent}${CLOSE[value.open]}`
}

function printFlat(value: Written): string {
  if (typeof value === 'string') return value
  const inside = value.members.map((member) => `${member.key}${printFlat(member.value)}`).join(', ')
  if (value.open === '[' || inside === '') return `${value.open}${inside}${CLOSE[value.open]}`
  return `{ ${inside} }`
}

const CLOSE = { '{': '}', '[': ']' } as const
