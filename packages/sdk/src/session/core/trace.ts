import type { Decision, NarrowedTool } from '@countersign/protocol'

export type TraceStage = 'narrow' | 'pre_check' | 'llm_call' | 'validate' | 'gate' | 'finalize' | 'capture'

/** One check of a turn and its result. */
export interface TraceEntry {
  /** The part of the turn that made the check. */
  readonly stage: TraceStage
  /** The tool that was checked; null if the check is about the whole turn. */
  readonly tool: string | null
  /** The result of the check. */
  readonly verdict: 'pass' | 'block' | 'skip'
  /** Why it was blocked or skipped. */
  readonly reason: string | null
  /** What the rule checked, without content: paths of arguments, names of limits. */
  readonly checked: string | null
  /** What the rule found, without content. */
  readonly found: string | null
}

/** The steps of the latest turn. Values of arguments are never among them. Entries are made when they are asked for. */
export interface Trace {
  add(stage: TraceStage, verdict: TraceEntry['verdict'], about?: About): void
  narrowed(allowed: readonly string[], removed: readonly NarrowedTool[]): void
  decided(decisions: readonly Decision[]): void
  entries(): readonly TraceEntry[]
}

const LONGEST = 1_000

export function createTrace(): Trace {
  const steps: Step[] = []
  return {
    add(stage, verdict, about) {
      if (steps.length < LONGEST) steps.push({ stage, verdict, about })
    },
    narrowed(allowed, removed) {
      steps.push({ stage: 'narrow', allowed, removed })
    },
    decided(decisions) {
      steps.push({ stage: 'validate', decisions })
    },
    entries: () =>
      Object.freeze(steps.flatMap(entriesOf).slice(0, LONGEST).map(Object.freeze)) as readonly TraceEntry[],
  }
}

type Step =
  | { readonly stage: TraceStage; readonly verdict: TraceEntry['verdict']; readonly about: About | undefined }
  | { readonly stage: 'narrow'; readonly allowed: readonly string[]; readonly removed: readonly NarrowedTool[] }
  | { readonly stage: 'validate'; readonly decisions: readonly Decision[] }

type About = Partial<Omit<TraceEntry, 'stage' | 'verdict'>>

function entriesOf(step: Step): TraceEntry[] {
  if ('allowed' in step) return [...step.allowed.map(offered), ...step.removed.map(removed)]
  if ('decisions' in step) return step.decisions.flatMap(decided)
  return [entry(step.stage, step.verdict, step.about)]
}

const entry = (
  stage: TraceStage,
  verdict: TraceEntry['verdict'],
  { tool = null, reason = null, checked = null, found = null }: About = {},
): TraceEntry => ({ stage, tool, verdict, reason, checked, found })

const offered = (tool: string): TraceEntry => entry('narrow', 'pass', { tool })

const removed = ({ tool, reason, detail }: NarrowedTool): TraceEntry =>
  entry('narrow', 'block', { tool, reason, found: detail ?? null })

function decided({ tool_name: tool, decision, reasons }: Decision): TraceEntry[] {
  const blocks = reasons.map(({ reason, detail, failures }) =>
    entry('validate', 'block', { tool, reason, checked: pathsOf(failures), found: detail ?? null }),
  )
  return decision === 'allow' ? [entry('validate', 'pass', { tool }), ...blocks] : blocks
}

const pathsOf = (failures: readonly { path: string }[]): string | null =>
  failures.length === 0 ? null : failures.map(({ path }) => path).join(', ')
