import {
  type Ask,
  type CheckpointAsk,
  type CompiledContract,
  type CompiledSession,
  type Edit,
  LIMITS,
  spanSeconds,
  windowSecondsOf,
} from '@countersign/protocol'
import { coversSteps, sourceSteps } from '../contract/source-path.js'
import { hasLowest, listedValues } from '../contract/when/conditional-rules.js'
import { preparePath } from './prepare-invariant.js'
import type { Report, ReportTo } from './report/problem.js'

/** What `ask` says that cannot be, and what of a checkpoint means nothing beside it. */
export function checkAsks({ session, contracts }: CompiledSession, reportTo: ReportTo): void {
  if (session.ask !== undefined) checkAsk(session.ask, ['ask'], reportTo(null, null))
  for (const [index, contract] of contracts.entries()) {
    for (const [item, checkpoint] of [contract.checkpoint ?? []].flat().entries()) {
      if (checkpoint.ask === undefined) continue
      const report = reportTo(contract.tool, index)
      checkAsk(checkpoint.ask, ['checkpoint', item, 'ask'], report)
      checkBeside(checkpoint, item, report)
      checkEdits(contract, checkpoint.ask, ['checkpoint', item, 'ask'], report)
    }
  }
}

type WrittenCheckpoint = Extract<NonNullable<CompiledContract['checkpoint']>, readonly unknown[]>[number]

function checkBeside({ on_timeout, timeout_seconds }: WrittenCheckpoint, item: number, report: Report): void {
  if (on_timeout === 'allow') {
    const message = 'a question that nobody answers never allows the call'
    report(['checkpoint', item, 'on_timeout'], message, 'remove `on_timeout: allow`, or remove `ask`')
  }
  if (timeout_seconds !== LIMITS.checkpointTimeoutDefaultSeconds) {
    const message = '`timeout_seconds` is how long the program asks; with `ask`, people are asked'
    report(['checkpoint', item, 'timeout_seconds'], message, 'write `window` in `ask` instead')
  }
}

function checkAsk(ask: Ask, at: (string | number)[], report: Report): void {
  if (ask.self === 'confirm' && ask.count > 1) {
    const message = 'where several people decide, the person whom the session acts for is not one of them'
    report([...at, 'self'], message, 'use `self: never`, or `count: 1`')
  }
  for (const [index, { after }] of ask.escalate.entries()) {
    if (spanSeconds(after) < windowSecondsOf(ask)) continue
    const message = `after ${after} the question has ended: its window is ${ask.window}`
    report([...at, 'escalate', index, 'after'], message, 'use a shorter time, or a longer `window`')
  }
}

const OF_THE_TEXT = /^\$\.(?:content|finish_reason)\b/

/** What of a call a person may change, within what the contract allows in any case. */
function checkEdits(
  contract: CompiledContract,
  { edit = [], count }: CheckpointAsk,
  at: (string | number)[],
  report: Report,
): void {
  if (edit.length > 0 && count > 1) {
    const message = 'where several people decide, all of them decide about the same call, so none can change it'
    report([...at, 'edit'], message, 'remove `edit`, or use `count: 1`')
  }
  if (edit.length > 0 && (contract.assertions?.output_invariants ?? []).some(({ path }) => !OF_THE_TEXT.test(path))) {
    const message = '`output_invariants` judge the response as the model gave it, and not a call that a person changes'
    report([...at, 'edit'], message, 'say what arguments must be in `argument_value_invariants`')
  }
  for (const [index, one] of edit.entries()) {
    const place = [...at, 'edit', index]
    const path = preparePath(one.path, [...place, 'path'], report, { singular: 'an edit changes one value' })
    const steps = path?.steps ?? null
    if (steps === null) continue
    if (steps.length === 0) {
      report([...place, 'path'], 'an edit changes an argument, and `$` is all of them', 'name one, such as $.amount')
    } else if (steps.some((step) => typeof step === 'number' && step < 0)) {
      report(
        [...place, 'path'],
        `${one.path} counts from the end, and so names another element where some are left out`,
        'count from 0',
      )
    } else if (edit.findIndex(({ path: other }) => other === one.path) < index) {
      report([...place, 'path'], `${one.path} is named twice`, 'name each argument once')
    } else if ((contract.sources ?? []).some((source) => coversSteps(sourceSteps(source.path) ?? [], steps))) {
      const message = `\`sources\` says where ${one.path} may come from, and an edit is none of that`
      report([...place, 'path'], message, 'name another argument, or remove the rule from `sources`')
    } else checkWithin(contract, one, { steps, place, report })
  }
}

function checkWithin(
  contract: CompiledContract,
  { path, to }: Edit,
  { steps, place, report }: { steps: readonly (string | number)[]; place: (string | number)[]; report: Report },
): void {
  if (to === 'one_of' && listedValues(contract, { path, steps }) === null) {
    const fix = `list them: argument_value_invariants: [{ path: ${path}, one_of: [ … ] }], or \`enum\` in \`arguments\``
    report([...place, 'to'], `the contract lists no values for ${path}`, fix)
  }
  if (to === 'lower' && !hasLowest(contract, { path, steps })) {
    const fix = `say it: argument_value_invariants: [{ path: ${path}, gte: 0 }], or \`minimum\` in \`arguments\``
    report([...place, 'to'], `the contract does not say how low ${path} may be`, fix)
  }
}
