import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { SIDE_EFFECTS, type SideEffect } from '@countersign/protocol'

/** One recorded suite: tools, and traces joined with the full text of their results. */
export interface Suite {
  readonly name: string
  readonly tools: readonly { name: string; schema: unknown; sideEffect: SideEffect }[]
  readonly traces: readonly Trace[]
}

/** What an engine may see is `user`, and of each call name, arguments, turn and result; the labels only score. */
export interface Trace {
  readonly id: string
  readonly user: string
  readonly calls: readonly RecordedCall[]
  readonly labels: {
    readonly kind: string
    readonly task: string
    readonly fold: number
    readonly utility: boolean
    readonly duplicate: boolean
  }
}

export interface RecordedCall {
  readonly name: string
  readonly arguments: unknown
  readonly turn: number
  readonly result: string
  readonly labels: { injected?: string; tainted: boolean; gold?: boolean; error: boolean }
}

/** The data's own words for side effects, in ours. */
const EFFECT_WORDS: Record<string, SideEffect> = { 'egress-read': 'egress_read', irreversible: 'destructive' }

/** Every suite of a folder, found by its `<source>-<suite>-tools.json`. */
export function readSuites(folder: string): Suite[] {
  const files = readdirSync(folder)
  return files
    .filter((file) => file.endsWith('-tools.json'))
    .sort()
    .map((file) => readSuite(folder, file.slice(0, -'-tools.json'.length)))
}

interface RawTrace {
  id: string
  kind: string
  user_task: string
  fold: number
  utility: boolean
  dup_of?: string | null
  user_prompt: string
  calls: {
    name: string
    arguments: unknown
    turn: number
    result_excerpt?: string | null
    result_ref?: string
    error?: string | null
    oracle?: { injected?: string; result_tainted?: boolean; gold?: boolean }
  }[]
}

function readSuite(folder: string, prefix: string): Suite {
  const read = <T>(suffix: string): T[] => readLines<T>(join(folder, `${prefix}${suffix}.jsonl.gz`))
  const results = new Map(read<{ ref: string; text: string }>('-results').map(({ ref, text }) => [ref, text]))
  const raw = [...read<RawTrace>(''), ...read<RawTrace>('-core'), ...read<RawTrace>('-extra')]
  const tools = JSON.parse(readFileSync(join(folder, `${prefix}-tools.json`), 'utf8')) as {
    name: string
    parameters: unknown
    side_effect: string
  }[]
  return {
    name: prefix.slice(prefix.indexOf('-') + 1),
    tools: tools.map((tool) => ({ name: tool.name, schema: tool.parameters, sideEffect: effectOf(tool.side_effect) })),
    traces: raw.map((trace) => toTrace(trace, results)),
  }
}

const effectOf = (word: string): SideEffect =>
  EFFECT_WORDS[word] ?? SIDE_EFFECTS.find((effect) => effect === word) ?? 'write'

function toTrace(raw: RawTrace, results: ReadonlyMap<string, string>): Trace {
  const { kind, user_task: task, fold, utility } = raw
  return {
    id: raw.id,
    user: raw.user_prompt,
    calls: raw.calls.map(({ name, arguments: given, turn, result_ref, result_excerpt, error, oracle }) => ({
      name,
      arguments: given,
      turn,
      result: results.get(result_ref ?? '') ?? result_excerpt ?? '',
      labels: {
        ...(oracle?.injected !== undefined && { injected: oracle.injected }),
        ...(oracle?.gold !== undefined && { gold: oracle.gold }),
        tainted: oracle?.result_tainted === true,
        error: typeof error === 'string' && error !== '',
      },
    })),
    labels: { kind, task, fold, utility, duplicate: typeof raw.dup_of === 'string' && raw.dup_of !== '' },
  }
}

function readLines<T>(path: string): T[] {
  if (!existsSync(path)) return []
  const lines = gunzipSync(readFileSync(path)).toString('utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as T)
}
