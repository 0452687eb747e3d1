// npm run sabotage [-- PART OF AN ID …]: breaks the product on purpose, one row of test/sabotage/sabotages.ts at a time, and
// runs the tests that cite the broken requirement. At least one of them must fail, and none without the sabotage; one that
// goes unnoticed shows a test that proves nothing. No file is changed; the last line is one JSON object. Not part of CI.
import type { TestCase, TestModule, Vitest } from 'vitest/node'
import { createVitest } from 'vitest/node'
import { placeOf } from '../test/sabotage/place-of.js'
import { SABOTAGES, type Sabotage } from '../test/sabotage/sabotages.js'
import { readCitations } from '../test/support/files/citations.js'
import { root } from '../test/support/files/tracked-files.js'

type Outcome = { readonly kind: 'noticed' | 'unnoticed' | 'invalid'; readonly why: string }

const wanted = process.argv.slice(2)
const rows = SABOTAGES.filter(({ breaks }) => wanted.length === 0 || wanted.some((part) => breaks.includes(part)))
const citations = [...readCitations()]
const whole = new Map<string, Outcome>()
const holder = globalThis as typeof globalThis & { countersignSabotage?: Sabotage | undefined }

process.env.COUNTERSIGN_TEST_BUILT = 'yes'
const vitest = await createVitest('test', {
  config: `${root}test/sabotage/vitest.config.ts`,
  watch: false,
  bail: 1,
  reporters: [{}],
})
// The PostgreSQL of the tests must not outlive the script.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void vitest.close().finally(() => process.exit(1)))
}
const outcomes: (Outcome & { readonly row: Sabotage })[] = []
try {
  await vitest.standalone()
  for (const row of rows) {
    const outcome = await sabotage(vitest, row)
    outcomes.push({ ...outcome, row })
    console.log(`${outcome.kind.padEnd(9)} ${row.breaks}: ${row.file}\n          ${outcome.why}`)
  }
} finally {
  await vitest.close()
}
const idsOf = (kind: Outcome['kind']) =>
  outcomes.filter((outcome) => outcome.kind === kind).map(({ row }) => row.breaks)
const [unnoticed, invalid] = [idsOf('unnoticed'), idsOf('invalid')]
console.log(JSON.stringify({ sabotages: rows.length, noticed: idsOf('noticed').length, unnoticed, invalid }))
process.exit(outcomes.length > 0 && unnoticed.length + invalid.length === 0 ? 0 : 1)

async function sabotage(runner: Vitest, row: Sabotage): Promise<Outcome> {
  const whole = await wholeOutcome(runner, row.breaks)
  if (whole.kind !== 'unnoticed') return { kind: 'invalid', why: `without the sabotage: ${whole.why}` }
  holder.countersignSabotage = row
  runner.invalidateFile(`${root}${placeOf(row.file)}`)
  try {
    return await runCiting(runner, row.breaks)
  } finally {
    holder.countersignSabotage = undefined
    runner.invalidateFile(`${root}${placeOf(row.file)}`)
  }
}

/** How the tests of a requirement end where nothing is broken. Several rows may break the same one. */
async function wholeOutcome(runner: Vitest, requirement: string): Promise<Outcome> {
  const known = whole.get(requirement) ?? (await runCiting(runner, requirement))
  whole.set(requirement, known)
  return known
}

async function runCiting(runner: Vitest, requirement: string): Promise<Outcome> {
  const files = citations.filter(([, ids]) => ids.has(requirement)).map(([file]) => `${root}${file}`)
  const all = await runner.globTestSpecifications()
  runner.setGlobalTestNamePattern(new RegExp(`[\\[ ]${requirement.replaceAll('.', '\\.')}[,\\]]`))
  const { testModules, unhandledErrors } = await runner.runTestSpecifications(
    all.filter(({ moduleId }) => files.includes(moduleId)),
  )
  return judge(
    testModules.filter(({ moduleId }) => files.includes(moduleId)),
    unhandledErrors,
  )
}

/** Noticed by a test that ran and failed. What cannot be loaded proves nothing about the tests. */
function judge(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): Outcome {
  const broken = modules.flatMap((module) => module.errors())
  if (broken[0] !== undefined) return { kind: 'invalid', why: firstLine(broken[0].message) }
  const ran = modules.flatMap((module) => [...module.children.allTests()].filter(hasRun))
  if (ran.length === 0) return { kind: 'invalid', why: 'no test ran' }
  const failed = ran.find((test) => test.result().state === 'failed')
  if (failed === undefined) {
    return unhandledErrors.length > 0
      ? { kind: 'invalid', why: `no test failed, but ${firstLine(String(unhandledErrors[0]))}` }
      : { kind: 'unnoticed', why: `${ran.length} passed` }
  }
  const [error] = failed.result().errors ?? []
  if (/^(?:Reference|Syntax)Error$/.test(error?.name ?? '')) return { kind: 'invalid', why: firstLine(error?.message) }
  return { kind: 'noticed', why: `${failed.name.slice(0, 60)}: ${firstLine(error?.message)}` }
}

function hasRun(test: TestCase): boolean {
  return test.result().state !== 'skipped' && test.result().state !== 'pending'
}

function firstLine(text: string | undefined): string {
  return (text ?? '').split('\n', 1)[0]?.slice(0, 140) ?? ''
}
