import {
  type Ask,
  type CompiledContract,
  type CompiledSession,
  LIMITS,
  spanSeconds,
  windowSecondsOf,
} from '@countersign/protocol'
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
