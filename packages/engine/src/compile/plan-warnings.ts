import { type CompiledContract, type CompiledSession, type LabelRule, LIMITS } from '@countersign/protocol'
import { inCycles } from '../contract/components.js'
import type { Plan, PreparedContract } from '../contract/plan.js'
import { noteUnchecked } from '../json/schema/note-unchecked.js'
import type { CompiledSource } from './read-source.js'
import type { CompileNote } from './report/compile-note.js'
import { writePlace } from './report/compile-note.js'

type Note = (path: readonly (string | number)[], message: string, fix: string) => void

/** Warnings about a plan that compiles: rules that are odd together, or say less than they seem to. */
export function planWarnings(
  plan: Plan,
  contracts: readonly CompiledSource<CompiledContract>[],
  session: CompiledSource<CompiledSession['session']> | null,
): CompileNote[] {
  const notes: CompileNote[] = []
  const noteTo =
    (source: CompiledSource<unknown>['source']): Note =>
    (path, message, fix) => {
      notes.push({ file: source.file, line: source.lineAt(path), path: writePlace(path), message, fix })
    }
  const needThemselves = inCycles(new Map([...plan.contracts.values()].map((item) => [item.tool, requiredTools(item)])))
  for (const { source, compiled } of contracts) {
    const note = noteTo(source)
    noteClampedTimeouts(source.value, note)
    noteUnchecked(compiled.arguments, ['arguments'], note)
    const contract = plan.contracts.get(compiled.tool)
    if (contract !== undefined) noteUncallable(contract, plan, needThemselves, note)
  }
  if (session !== null) noteSession(plan, noteTo(session.source))
  return notes
}

function noteClampedTimeouts(value: unknown, note: Note): void {
  const written = (value as { checkpoint?: unknown }).checkpoint
  const list = [written].flat() as ({ timeout_seconds?: number } | undefined)[]
  list.forEach((checkpoint, index) => {
    const seconds = checkpoint?.timeout_seconds
    if (seconds === undefined) return
    const { checkpointTimeoutMinSeconds: min, checkpointTimeoutMaxSeconds: max } = LIMITS
    if (seconds >= min && seconds <= max) return
    const path = Array.isArray(written) ? ['checkpoint', index, 'timeout_seconds'] : ['checkpoint', 'timeout_seconds']
    note(path, `the timeout of ${seconds} s becomes ${seconds < min ? min : max} s`, `write ${min} to ${max}`)
  })
}

/** Rules that are fine one by one and together leave no way to call the tool. */
function noteUncallable(contract: PreparedContract, plan: Plan, needThemselves: ReadonlySet<string>, note: Note): void {
  const { transitions, labels, sources } = contract.definition
  const target = transitions?.advances_to
  const phases = transitions?.valid_in_phases
  // Allowed in every phase, it is also allowed in the one it leads to.
  if (target !== undefined && phases !== undefined && plan.phases !== null) {
    const { moves } = plan.phases
    if (!phases.some((phase) => phase === target || moves.get(phase)?.has(target) === true)) {
      note(
        ['transitions', 'advances_to'],
        `no phase that allows the tool leads to "${target}"`,
        'add the transition to session.yaml',
      )
    }
  }
  if (needThemselves.has(contract.tool)) {
    note(['preconditions'], 'the tool requires tools that in turn require it', 'remove one of the preconditions')
  }
  const forbidding = new Set(plan.forbiddenBy.get(contract.tool))
  if (requiredTools(contract).some((tool) => forbidding.has(tool))) {
    note(
      ['preconditions'],
      'the tool requires a call after which it is forbidden',
      'remove the precondition or the forbids_after',
    )
  }
  const always = (list: readonly LabelRule[] = []) => list.filter((item) => typeof item === 'string')
  const denying = new Set(always(labels?.deny_when))
  const own = always(labels?.adds).find((label) => denying.has(label))
  if (own !== undefined)
    note(
      ['labels'],
      `the first call adds the label "${own}", which denies every later one`,
      'check that this is intended',
    )
  sources?.forEach(({ from }, index) => {
    for (const origin of from) {
      if (typeof origin === 'object' && 'result' in origin && !plan.contracts.has(origin.result)) {
        note(
          ['sources', index, 'from'],
          `no contract covers the tool "${origin.result}"`,
          'add one, or remove the source',
        )
      }
    }
  })
}

const requiredTools = ({ preconditions }: PreparedContract): string[] =>
  preconditions.flatMap((item) => (item.kind === 'tool' && item.when.length === 0 ? [item.tool] : []))

function noteSession(plan: Plan, note: Note): void {
  const limits = plan.session.session_limits
  if (limits?.max_cost_per_session !== undefined && plan.session.pricing === undefined) {
    note(
      ['session_limits', 'max_cost_per_session'],
      'a cost limit without `pricing` blocks every model call',
      'add `pricing`',
    )
  }
  const loops = limits?.loop_detection
  if (loops !== undefined && loops.threshold > loops.window) {
    note(
      ['session_limits', 'loop_detection'],
      'the threshold is above the window, so no loop can be detected',
      'widen the window',
    )
  }
}
