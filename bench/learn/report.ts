import type { Measured } from './measure.js'
import { VARIANTS } from './rewrite.js'
import { type Share, seededRandom } from './score.js'

export function print(measured: Measured): void {
  const { traces, deduplicated, ask, questions, rewritten, rewrittenCaught, poisoned, curve, writes } = measured
  console.log('  block only')
  line('false-block rate, by trace', traces.falseBlocks)
  line('  duplicates left out', deduplicated.falseBlocks)
  line('false-block rate, by call', traces.falseBlockedCalls)
  line('attacks stopped', traces.stopped)
  line('  duplicates left out', deduplicated.stopped)
  for (const variant of VARIANTS) line(`  ${VARIANT_WORDS[variant]}`, rewritten[variant])
  for (const { sessions, stopped } of poisoned) line(`  after learning from ${sessions} attacked`, stopped)
  line('resisted attacks left untouched', traces.untouched)
  line('goal as the user’s own request, blocked', traces.control)
  line('gold writes blocked', writes.goldBlocked)
  line('wrong writes blocked', writes.wrongBlocked)
  console.log('  with questions')
  line('false-block rate, by trace', questions.falseBlocks)
  line('benign traces with a question', questions.asked)
  line('attacks passing unasked', questions.unasked)
  for (const variant of VARIANTS) line(`  caught, ${VARIANT_WORDS[variant]}`, rewrittenCaught[variant])
  for (const { sessions, caught } of poisoned) line(`  caught, having learned from ${sessions} attacked`, caught)
  line('goal as the user’s own request, asked or blocked', questions.control)
  console.log('  every rule asks')
  line('false-block rate, by trace', ask.falseBlocks)
  line('benign traces with a question', ask.asked)
  line('attacks passing unasked', ask.unasked)
  for (const { sessions, falseBlocks, stopped, asked, caught } of curve) {
    line(`after ${sessions} sessions: false-block rate, by trace`, falseBlocks)
    line('  attacks stopped', stopped)
    line('  with questions: asked', asked)
    line('  with questions: caught', caught)
  }
}

const VARIANT_WORDS = {
  line: 'values on a line of their own',
  cell: 'values alone in a cell',
  disguised: 'values disguised',
  undated: 'without dates',
  short: 'no longer than the place ever was',
} as const

function line(name: string, share: Share): void {
  if (share.value === null) return
  const [low, high] = share.interval(seededRandom(7))
  console.log(
    `    ${name.padEnd(48)} ${share.value.toFixed(3)}  [${low.toFixed(3)}, ${high.toFixed(3)}]  n=${share.count}`,
  )
}

/** The keys of a suite depend on what it holds: attacks, or writes marked right and wrong. */
export function figures(measured: Measured): Record<string, unknown> {
  const { traces, ask, questions, rewritten, rewrittenCaught, poisoned, curve, writes } = measured
  const asking = {
    fbr_trace: round(questions.falseBlocks),
    asked: round(questions.asked),
    caught: rest(questions.unasked),
  }
  const common = { fbr_trace: round(traces.falseBlocks), fbr_call: round(traces.falseBlockedCalls), questions: asking }
  if (writes.goldBlocked.count > 0) {
    const learning = curve.map((at) => ({
      sessions: at.sessions,
      fbr_trace: round(at.falseBlocks),
      asked: round(at.asked),
    }))
    const wrong = { gold_blocked: round(writes.goldBlocked), wrong_blocked: round(writes.wrongBlocked) }
    return { ...wrong, ...common, curve: learning }
  }
  const rounded = (shares: Measured['rewritten']) =>
    Object.fromEntries(VARIANTS.map((variant) => [variant, round(shares[variant])]))
  return {
    ...common,
    stopped: round(traces.stopped),
    stopped_interval: interval(traces.stopped),
    fbr_interval: interval(traces.falseBlocks),
    asked_interval: interval(questions.asked),
    collateral: round(traces.untouched),
    control_blocked: round(traces.control),
    control_asked: round(questions.control),
    ask: { fbr_trace: round(ask.falseBlocks), asked: round(ask.asked), unasked: round(ask.unasked) },
    rewritten: rounded(rewritten),
    rewritten_caught: rounded(rewrittenCaught),
    poisoned: Object.fromEntries(poisoned.map(({ sessions, stopped }) => [sessions, round(stopped)])),
    poisoned_caught: Object.fromEntries(poisoned.map(({ sessions, caught }) => [sessions, round(caught)])),
    curve: curve.map((at) => ({
      sessions: at.sessions,
      fbr_trace: round(at.falseBlocks),
      stopped: round(at.stopped),
      asked: round(at.asked),
      caught: round(at.caught),
    })),
  }
}

const interval = (share: Share): [number, number] | null =>
  share.value === null ? null : (share.interval(seededRandom(7)).map((bound) => digits(bound)) as [number, number])

const round = (share: Share): number | null => (share.value === null ? null : digits(share.value))
const rest = (share: Share): number | null => (share.value === null ? null : digits(1 - share.value))
const digits = (value: number): number => Number(value.toFixed(4))
