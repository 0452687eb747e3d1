import type { Decision, NarrowedTool } from '@countersign/protocol'

export type TraceStage = 'narrow' | 'pre_check' | 'llm_call' | 'validate' | 'gate' | 'finalize' | 'capture'

/** One thing that was looked at in a turn, and what came of it. */
export interface TraceEntry {
  readonly stage: TraceStage
  /** Null where the step is about the whole turn. */
  readonly tool: string | null
  readonly verdict: 'pass' | 'block' | 'skip'
  readonly reason: string | null
  /** What the rule looked at, without content: paths of the arguments, the names of limits. */
  readonly checked: string | null
  readonly found: string | null
}

/** The steps of the latest turn. Values of arguments are never among them. */
export interface Trace {
  add(stage: TraceStage, verdict: TraceEntry['verdict'], about?: Partial<Omit<TraceEntry, 'stage' | 'verdict'>>): void
  entries(): readonly TraceEntry[]
}

const LONGEST = 1_000

export function createTrace(): Trace {
  const entries: TraceEntry[] = []
  return {
    add(stage, verdict, { tool = null, reason = null, checked = null, found = null } = {}) {
      if (entries.length < LONGEST) entries.push({ stage, tool, verdict, reason, checked, found })
    },
    entries: () => Object.freeze(entries.map((entry) => Object.freeze(entry))),
  }
}

export function traceNarrowing(trace: Trace, allowed: readonly string[], removed: readonly NarrowedTool[]): void {
  for (const tool of allowed) trace.add('narrow', 'pass', { tool })
  for (const { tool, reason, detail } of removed) trace.add('narrow', 'block', { tool, reason, found: detail ?? null })
}

export function traceDecisions(trace: Trace, decisions: readonly Decision[]): void {
  for (const { tool_name: tool, decision, reasons } of decisions) {
    if (decision === 'allow') trace.add('validate', 'pass', { tool })
    for (const { reason, detail, failures } of reasons) {
      trace.add('validate', 'block', { tool, reason, checked: pathsOf(failures), found: detail ?? null })
    }
  }
}

const pathsOf = (failures: readonly { path: string }[]): string | null =>
  failures.length === 0 ? null : failures.map(({ path }) => path).join(', ')
