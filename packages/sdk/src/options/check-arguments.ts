import { ReplayConfigError } from '../base/errors.js'
import { executors, isLabel, LABEL_RULE, shown } from './option-kinds.js'
import type { ToolMap } from './replay-options.js'

/** Checks the argument of `session.addLabel`. */
export function checkLabel(label: unknown): asserts label is string {
  if (!isLabel(label)) throw new ReplayConfigError(`${shown(label)} is not a label: ${LABEL_RULE}`, null)
}

/** Checks the argument of `session.narrow`. A string would be taken for an array of its letters. */
export function checkToolFilter(tools: unknown): asserts tools is readonly string[] {
  if (Array.isArray(tools) && tools.every((name) => typeof name === 'string')) return
  throw new ReplayConfigError(`narrow takes an array of tool names, not ${shown(tools)}`, null)
}

/** Checks the argument of `session.quote`. */
export function checkText(text: unknown): asserts text is string {
  if (typeof text !== 'string') throw new ReplayConfigError(`quote takes a text, not ${shown(text)}`, null)
}

/** Checks the argument of `session.addTools`. */
export function checkExecutors(tools: unknown): asserts tools is ToolMap {
  const problem = executors.problem(tools)
  if (problem !== null) throw new ReplayConfigError(`the argument of addTools ${problem}`, null)
}
