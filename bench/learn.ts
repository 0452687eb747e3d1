/**
 * npm run bench -- learn: how good are contracts learned from recorded sessions, on sessions of other user tasks? Five
 * folds by task; labels only select what to learn from and score. `--data DIR` measures another folder of the same
 * shape.
 */
import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { SHARED_DATA_MISSING, sharedData } from '../test/support/data/shared-data.js'
import { DataError, findSuites } from './learn/dataset.js'
import { type Measured, measure, prepare } from './learn/measure.js'
import { type Share, seededRandom } from './learn/score.js'

const { values } = parseArgs({ options: { data: { type: 'string' } } })
const folder = values.data ?? sharedData('recorded')
if (folder === null) fail(SHARED_DATA_MISSING)
if (!existsSync(folder)) fail(`no folder ${folder}: give one with --data DIR`)

const report: Record<string, unknown> = { bench: 'learn' }
for (const { name, read } of suitesIn(folder)) {
  try {
    const started = performance.now()
    const prepared = prepare(read())
    const measured = measure(prepared)
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    const { traces } = prepared.suite
    console.log(`\n${name}: ${traces.length} traces, ${prepared.lessons.length} to learn from (${seconds} s)`)
    print(measured)
    report[name] = figures(measured)
  } catch (error) {
    // A suite that cannot be read does not affect the figures of the others.
    if (!(error instanceof DataError)) throw error
    console.error(`\n${name}: ${error.message}`)
    report[name] = { error: error.message }
    process.exitCode = 1
  }
}
console.log(JSON.stringify(report))

function suitesIn(data: string): ReturnType<typeof findSuites> {
  try {
    return findSuites(data)
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error))
  }
}

function fail(message: string): never {
  console.error(message)
  process.exit(2)
}

function print(measured: Measured): void {
  const { traces, deduplicated, ask, rewritten, poisoned, curve, writes } = measured
  line('false-block rate, by trace', traces.falseBlocks)
  line('  duplicates left out', deduplicated.falseBlocks)
  line('false-block rate, by call', traces.falseBlockedCalls)
  line('attacks stopped', traces.stopped)
  line('  duplicates left out', deduplicated.stopped)
  line('  values on a line of their own', rewritten.line)
  line('  values alone in a cell', rewritten.cell)
  line('  values disguised', rewritten.disguised)
  for (const { sessions, stopped } of poisoned) line(`  after learning from ${sessions} attacked`, stopped)
  line('resisted attacks left untouched', traces.untouched)
  line('goal as the user’s own request, blocked', traces.control)
  line('asking: false-block rate, by trace', ask.falseBlocks)
  line('asking: benign traces with a question', ask.asked)
  line('asking: attacks passing unasked', ask.unasked)
  line('gold writes blocked', writes.goldBlocked)
  line('wrong writes blocked', writes.wrongBlocked)
  for (const { sessions, falseBlocks, stopped } of curve) {
    line(`after ${sessions} sessions: false-block rate, by trace`, falseBlocks)
    line('  attacks stopped', stopped)
  }
}

function line(name: string, share: Share): void {
  if (share.value === null) return
  const [low, high] = share.interval(seededRandom(7))
  console.log(
    `  ${name.padEnd(46)} ${share.value.toFixed(3)}  [${low.toFixed(3)}, ${high.toFixed(3)}]  n=${share.count}`,
  )
}

/** The keys of a suite depend on what it holds: attacks, or writes marked right and wrong. */
function figures({ traces, ask, rewritten, poisoned, curve, writes }: Measured): Record<string, unknown> {
  const falseBlocks = { fbr_trace: round(traces.falseBlocks), fbr_call: round(traces.falseBlockedCalls) }
  const learning = curve.map(({ sessions, falseBlocks: share, stopped }) => ({
    sessions,
    fbr_trace: round(share),
    stopped: round(stopped),
  }))
  if (writes.goldBlocked.count > 0) {
    const wrong = { gold_blocked: round(writes.goldBlocked), wrong_blocked: round(writes.wrongBlocked) }
    return { ...wrong, ...falseBlocks, curve: learning.map(({ sessions, fbr_trace }) => ({ sessions, fbr_trace })) }
  }
  return {
    ...falseBlocks,
    stopped: round(traces.stopped),
    collateral: round(traces.untouched),
    control_blocked: round(traces.control),
    ask: { fbr_trace: round(ask.falseBlocks), asked: round(ask.asked), unasked: round(ask.unasked) },
    rewritten: { line: round(rewritten.line), cell: round(rewritten.cell), disguised: round(rewritten.disguised) },
    poisoned: Object.fromEntries(poisoned.map(({ sessions, stopped }) => [sessions, round(stopped)])),
    curve: learning,
  }
}

function round(share: Share): number | null {
  return share.value === null ? null : Number(share.value.toFixed(4))
}
