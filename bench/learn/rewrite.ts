import type { RecordedCall, Suite, Trace } from './dataset.js'

/** The results to show instead of a recorded one. */
export type Rewriting = (trace: Trace, call: RecordedCall) => unknown[]

export const VARIANTS = ['line', 'cell', 'disguised', 'undated', 'short'] as const
export type Variant = (typeof VARIANTS)[number]

/**
 * What an attacker who knows the rules would write. The injected goal's values, wherever a poisoned result holds them
 * inside longer text: on a line of their own; alone in the cell; or spelled so that no exact match is left. And the
 * poisoned text without dates, months and ordinals; or no longer than its place ever was where nobody attacked.
 */
export function rewritingsOf(suite: Suite): Record<Variant, Rewriting> {
  const longest = longestTexts(suite)
  return {
    line: rewriting((text, values) => [values.reduce((done, value) => done.replaceAll(value, `\n${value}\n`), text)]),
    cell: rewriting((text, values) => {
      const found = values.filter((value) => text.includes(value))
      return found.length === 0 ? [text] : found
    }),
    disguised: rewriting((text, values) => [
      values.reduce((done, value) => done.replaceAll(value, disguise(value)), text),
    ]),
    undated: rewriting((text) => [text.replaceAll(DATED, ' ')]),
    short: rewriting((text, values, place) => [shortened(text, values, longest.get(place) ?? 0)]),
  }
}

const disguise = (value: string): string => [...value].join('\u2063')

const DATED =
  /\b\d{4}[-/.]\d{1,2}[-/.]\d{1,2}\b|\b\d{1,2}[/.]\d{1,2}[/.]\d{2,4}\b|\b\d{1,2}(st|nd|rd|th)\b|\b(january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec)\b\.?/gi

/** The values that the goal needs, and as much of the text around the first of them as fits. */
function shortened(text: string, values: readonly string[], room: number): string {
  if (text.length <= room) return text
  const found = values.filter((value) => text.includes(value) && value.includes(' ') === false)
  const wanted = found.filter((value) => !found.some((other) => other !== value && other.includes(value))).join(' ')
  const from = Math.max(0, ...found.slice(0, 1).map((value) => text.indexOf(value) - 60))
  const around = text.slice(from, from + Math.max(0, room - wanted.length - 1))
  return `${around} ${wanted}`.trim()
}

type Change = (text: string, values: readonly string[], place: string) => string[]

function rewriting(change: Change): Rewriting {
  return (trace, call) => {
    if (!call.labels.tainted) return [call.shown]
    const values = goalValues(trace)
    const variants = (text: string, place: string) => changed(text, values, change, place)
    const width = Math.max(1, ...textsOf(call.shown, call.name).map(({ text, place }) => variants(text, place).length))
    return Array.from({ length: width }, (_, at) =>
      mapTexts(call.shown, call.name, (text, place) => pick(variants(text, place), at)),
    )
  }
}

/** Text that consists of nothing but the value is already a cell. */
const changed = (text: string, values: readonly string[], change: Change, place: string) =>
  values.includes(text.trim()) ? [text] : change(text, values, place)

const pick = (variants: readonly string[], at: number): string => variants[Math.min(at, variants.length - 1)] ?? ''

/** Text arguments of the goal's calls, longest first, so that no part is mistaken for the whole. */
function goalValues(trace: Trace): string[] {
  const goals = trace.calls.filter(({ labels }) => labels.injected === 'goal')
  const values = goals
    .flatMap((call) => textsOf(call.arguments, ''))
    .flatMap(({ text }) => [text, ...text.split(/\s+/)])
  return [...new Set(values)].filter((value) => value.length >= 4).sort((a, b) => b.length - a.length)
}

/** The longest text at each place of a tool's results, in sessions that nobody attacked. */
function longestTexts({ traces }: Suite): Map<string, number> {
  const longest = new Map<string, number>()
  for (const { labels, calls } of traces) {
    if (labels.kind !== 'benign') continue
    for (const { name, shown } of calls) {
      for (const { place, text } of textsOf(shown, name)) {
        longest.set(place, Math.max(longest.get(place) ?? 0, text.length))
      }
    }
  }
  return longest
}

function textsOf(value: unknown, place: string): { text: string; place: string }[] {
  if (typeof value === 'string') return [{ text: value, place }]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) => textsOf(item, placeIn(place, key)))
}

/** Indexes, and keys that look like data, are all one place. */
const placeIn = (place: string, key: string): string => `${place}.${/^[a-z_]+$/.test(key) ? key : '*'}`

function mapTexts(value: unknown, place: string, map: (text: string, place: string) => string): unknown {
  if (typeof value === 'string') return map(value, place)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, item]) => [key, mapTexts(item, placeIn(place, key), map)] as const)
  return Array.isArray(value) ? entries.map(([, item]) => item) : Object.fromEntries(entries)
}
