/**
 * npm run bench -- learn: how good are contracts learned from recorded sessions, on sessions of other user tasks? Five
 * folds by task; labels only select what to learn from and score. `--data DIR` measures another folder of the same
 * shape, `--suite NAME` only that suite (also several), `--quick` leaves out what needs many replays, `--alpha RATE` sets how often
 * a person may be asked, and `--leave-out SUITE` chooses that rate on the other suites and measures the one left out.
 */
import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { SHARED_DATA_MISSING, sharedData } from '../test/support/data/shared-data.js'
import { chooseAlpha } from './learn/choose-alpha.js'
import { DataError, findSuites } from './learn/dataset.js'
import { type MeasureOptions, measure, prepare } from './learn/measure.js'
import { figures, print } from './learn/report.js'

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    suite: { type: 'string', multiple: true },
    quick: { type: 'boolean' },
    alpha: { type: 'string' },
    'leave-out': { type: 'string' },
  },
})
const folder = values.data ?? sharedData('recorded')
if (folder === null) fail(SHARED_DATA_MISSING)
if (!existsSync(folder)) fail(`no folder ${folder}: give one with --data DIR`)
const suites = suitesIn(folder)
for (const name of [...(values.suite ?? []), ...(values['leave-out'] === undefined ? [] : [values['leave-out']])]) {
  if (!suites.some((suite) => suite.name === name))
    fail(`no suite ${name}: there are ${suites.map((s) => s.name).join(', ')}`)
}
const alpha = values.alpha === undefined ? undefined : Number(values.alpha)
if (alpha !== undefined && !(alpha > 0 && alpha < 1)) fail('--alpha takes a rate between 0 and 1')

const report: Record<string, unknown> = { bench: 'learn' }
let options: MeasureOptions = { quick: values.quick === true, ...(alpha !== undefined && { alpha }) }
let chosen = suites.filter(({ name }) => values.suite === undefined || values.suite.includes(name))
const leftOut = values['leave-out']
if (leftOut !== undefined) {
  const choice = chooseAlpha(suites.filter(({ name }) => name !== leftOut))
  console.log(`chosen on ${choice.suites.join(', ')}: alpha ${choice.alpha} of ${choice.tried.length} tried`)
  for (const { alpha: tried, asked, caught } of choice.tried) {
    console.log(`  alpha ${tried}: asked ${asked.toFixed(3)}, caught ${caught.toFixed(3)} (means over the suites)`)
  }
  report.left_out = leftOut
  report.chosen_alpha = choice.alpha
  options = { ...options, alpha: choice.alpha }
  chosen = suites.filter(({ name }) => name === leftOut)
}
for (const { name, read } of chosen) {
  try {
    const started = performance.now()
    const prepared = prepare(read())
    const measured = measure(prepared, options)
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
