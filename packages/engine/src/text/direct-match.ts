import { spendOnJudging } from './judging-budget.js'

/**
 * Matches simple patterns in one pass over the text: `^` and `$`, and between them ASCII characters and sets with
 * repeat counts, none of which can be confused with what may follow it. Most patterns of contracts are like that
 * (`^ORD-[0-9]{4,}$`), and RE2 takes ten times as long. Null for any other pattern. RE2 must accept the source.
 */
export function directMatch(source: string): ((text: string) => boolean) | null {
  const parts = readParts(source)
  return parts === null || !parts.every(isPlain) ? null : (text) => follows(parts, text)
}

interface Part {
  /** 1 for each ASCII code that it matches. */
  readonly takes: Uint8Array
  readonly least: number
  readonly most: number
}

const ASCII = 128

function follows(parts: readonly Part[], text: string): boolean {
  spendOnJudging(1 + ((parts.length + text.length) >> 5))
  let at = 0
  for (const { takes, least, most } of parts) {
    const from = at
    while (at < text.length && at - from < most && takes[text.charCodeAt(at)] === 1) at++
    if (at - from < least) return false
  }
  return at === text.length
}

/** A part of variable length must share no character with what can follow it. */
function isPlain({ takes, least, most }: Part, index: number, parts: readonly Part[]): boolean {
  if (least === most) return true
  for (let at = index + 1; at < parts.length; at++) {
    const next = parts[at] as Part
    if (next.takes.some((taken, code) => taken === 1 && takes[code] === 1)) return false
    if (next.least > 0) return true
  }
  return true
}

const ESCAPED = String.raw`\\[dw.+*?()[\]{}|^$/\\-]`
/** One character or set with its count. What means something else to RE2, such as `+?` or `[^a]`, is left to RE2. */
const PART = new RegExp(
  `(?<one>[\\w@#%&=:;,<>~!"'\`/ -]|${ESCAPED})(?<count>[*+?]|\\{\\d+(?:,\\d*)?\\})?(?![*+?{])` +
    `|\\[(?<set>(?:[\\w@#%&=:;,<>~!"'\`/ .+*?(){}|$]|\\w-\\w|${ESCAPED})+-?)\\](?<counted>[*+?]|\\{\\d+(?:,\\d*)?\\})?(?![*+?{])`,
  'y',
)
const MEMBER = /(?<from>\w)-(?<to>\w)|\\(?<escaped>.)|(?<plain>.)/g

function readParts(source: string): Part[] | null {
  const inner = /^\^(.*)\$$/s.exec(source)?.[1]
  if (inner === undefined) return null
  const parts: Part[] = []
  PART.lastIndex = 0
  while (PART.lastIndex < inner.length) {
    const { one, count, set, counted } = PART.exec(inner)?.groups ?? {}
    const members = one ?? set
    if (members === undefined) return null
    parts.push({ takes: codesOf(members), ...repeatOf(count ?? counted) })
  }
  return parts
}

function codesOf(members: string): Uint8Array {
  const takes = new Uint8Array(ASCII)
  for (const { groups } of members.matchAll(MEMBER)) {
    const { from, to, escaped, plain } = groups ?? {}
    if (escaped === 'd') fill(takes, '0', '9')
    else if (escaped === 'w') for (const [low, high] of WORD) fill(takes, low, high)
    else fill(takes, from ?? escaped ?? plain ?? '', to ?? escaped ?? plain ?? '')
  }
  return takes
}

const WORD = [
  ['0', '9'],
  ['A', 'Z'],
  ['_', '_'],
  ['a', 'z'],
] as const

const fill = (takes: Uint8Array, low: string, high: string) => takes.fill(1, low.charCodeAt(0), high.charCodeAt(0) + 1)

function repeatOf(count: string | undefined): Pick<Part, 'least' | 'most'> {
  if (count === undefined) return { least: 1, most: 1 }
  if (count === '?') return { least: 0, most: 1 }
  if (count === '*') return { least: 0, most: Number.POSITIVE_INFINITY }
  if (count === '+') return { least: 1, most: Number.POSITIVE_INFINITY }
  const [least = '', most] = count.slice(1, -1).split(',')
  const high = most === undefined ? least : most
  return { least: Number(least), most: high === '' ? Number.POSITIVE_INFINITY : Number(high) }
}
