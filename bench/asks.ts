/**
 * npm run bench -- asks: how many questions does a learned plan put to people in a benign session, and how many of them
 * would be spared if who approves a source were not asked about it again? The answer is counted at its most: every later
 * question of the session about sources of the same tool, whatever its document, count or time. And what would pass of the
 * attacks? Five folds by task. `--data DIR` measures another folder of the same shape, `--suite NAME` only that suite (also
 * several).
 */
import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { SHARED_DATA_MISSING, sharedData } from '../test/support/data/shared-data.js'
import { type AskCounts, countAsks } from './learn/count-asks.js'
import { DataError, findSuites } from './learn/dataset.js'
import type { Mode } from './learn/learned-plan.js'
import { type Prepared, prepare } from './learn/measure.js'

const { values } = parseArgs({
  options: { data: { type: 'string' }, suite: { type: 'string', multiple: true } },
})
const folder = values.data ?? sharedData('recorded')
if (folder === null || !existsSync(folder)) {
  console.error(folder === null ? SHARED_DATA_MISSING : `no folder ${folder}: give one with --data DIR`)
  process.exit(2)
}
const PLANS = { drafted: 'questions', all_ask: 'ask' } as const satisfies Record<string, Mode>
const WORDS = { drafted: 'as drafted', all_ask: 'every learned rule asks' } as const

const report: Record<string, unknown> = { bench: 'asks' }
const totals = new Map<keyof typeof PLANS, AskCounts>()
for (const { name, read } of findSuites(folder)) {
  if (values.suite !== undefined && !values.suite.includes(name)) continue
  try {
    report[name] = measured(name, prepare(read()))
  } catch (error) {
    // A suite that cannot be read does not affect the figures of the others.
    if (!(error instanceof DataError)) throw error
    console.error(`\n${name}: ${error.message}`)
    report[name] = { error: error.message }
    process.exitCode = 1
  }
}
report.all = Object.fromEntries(
  [...totals].map(([plan, counts]) => [plan, print(`all suites, ${WORDS[plan]}`, counts)]),
)
console.log(JSON.stringify(report))

function measured(name: string, prepared: Prepared): Record<string, unknown> {
  const figures: Record<string, unknown> = {}
  for (const plan of Object.keys(PLANS) as (keyof typeof PLANS)[]) {
    const counts = countAsks(prepared, PLANS[plan])
    const before = totals.get(plan)
    totals.set(plan, before === undefined ? counts : sum(before, counts))
    figures[plan] = print(`${name}, ${WORDS[plan]}`, counts)
  }
  return figures
}

function sum(a: AskCounts, b: AskCounts): AskCounts {
  const both: AskCounts = { ...a }
  for (const key of Object.keys(a) as (keyof AskCounts)[]) both[key] += b[key]
  return both
}

function print(title: string, counts: AskCounts): Record<string, number> {
  const { sessions, asked, bySource, spared, attacks, passed, passedIfSpared } = counts
  const rounded = (value: number) => Math.round(value * 1_000) / 1_000
  const per = (questions: number) => rounded(sessions === 0 ? 0 : questions / sessions)
  const ratio = asked === 0 ? 1 : rounded(asked / (asked - spared))
  console.log(`\n${title}: ${sessions} benign sessions, ${attacks} attacked`)
  console.log(`  questions a benign session: ${per(asked)}, ${per(bySource)} of them about sources`)
  console.log(`  spared at most:             ${per(spared)}, ${ratio} times fewer`)
  console.log(`  attacks that pass unasked:  ${passed}, and at most ${passedIfSpared} with the spared questions`)
  return {
    questions: per(asked),
    by_source: per(bySource),
    spared: per(spared),
    ratio,
    attacks,
    passed,
    passed_if_spared: passedIfSpared,
  }
}
