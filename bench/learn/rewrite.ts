import type { RecordedCall, Trace } from './dataset.js'

/** The results to show instead of a recorded one. */
export type Rewriting = (trace: Trace, call: RecordedCall) => unknown[]

/**
 * What an attacker who knows the rules would write. The injected goal's values, wherever a poisoned result holds them
 * inside longer text: on a line of their own; alone in the cell; or spelled so that no exact match is left.
 */
export const REWRITINGS: Record<'line' | 'cell' | 'disguised', Rewriting> = {
  line: rewriting((text, values) => [values.reduce((done, value) => done.replaceAll(value, `\n${value}\n`), text)]),
  cell: rewriting((text, values) => {
    const found = values.filter((value) => text.includes(value))
    return found.length === 0 ? [text] : found
  }),
  disguised: rewriting((text, values) => [
    values.reduce((done, value) => done.replaceAll(value, disguise(value)), text),
  ]),
}

const disguise = (value: string): string => [...value].join('\u2063')

function rewriting(change: (text: string, values: readonly string[]) => string[]): Rewriting {
  return (trace, call) => {
    if (!call.labels.tainted) return [call.shown]
    const values = goalValues(trace)
    const parsed = call.shown
    const width = Math.max(1, ...texts(parsed).map((text) => changed(text, values, change).length))
    return Array.from({ length: width }, (_, at) => mapTexts(parsed, (text) => pick(changed(text, values, change), at)))
  }
}

/** Text that consists of nothing but the value is already a cell. */
const changed = (
  text: string,
  values: readonly string[],
  change: (text: string, values: readonly string[]) => string[],
) => (values.includes(text.trim()) ? [text] : change(text, values))

const pick = (variants: readonly string[], at: number): string => variants[Math.min(at, variants.length - 1)] ?? ''

/** Text arguments of the goal's calls, longest first, so that no part is mistaken for the whole. */
function goalValues(trace: Trace): string[] {
  const goals = trace.calls.filter(({ labels }) => labels.injected === 'goal')
  const values = goals.flatMap((call) => texts(call.arguments)).flatMap((text) => [text, ...text.split(/\s+/)])
  return [...new Set(values)].filter((value) => value.length >= 4).sort((a, b) => b.length - a.length)
}

function texts(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(texts)
}

function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value)
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, map))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, map)]))
}
