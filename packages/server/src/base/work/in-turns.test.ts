import { setImmediate } from 'node:timers/promises'
import { compilePlanInSteps, preparePlanInSteps, runToEnd, type Steps } from '@countersign/engine'
import { expect, test } from 'vitest'
import { asOneStep, createTurns } from './in-turns.js'

/** Counts how often others could have had their turn until the work was done. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0
  let isDone = false
  const end = work.finally(() => {
    isDone = true
  })
  while (!isDone) {
    await setImmediate()
    turns++
  }
  await end
  return turns
}

const by = (tenantId: string, isOwed = false) => ({ tenantId, isOwed })

const schemaOf = (tool: number) => ({
  type: 'object',
  properties: Object.fromEntries(
    Array.from({ length: 30 }, (_, at) => [`p${tool}_${at}`, { type: 'string', minLength: at, maxLength: 900 }]),
  ),
})
const tools = Array.from({ length: 8 }, (_, tool) => tool)

test('a plan that takes long to prepare lets others in, contract by contract', async () => {
  const contracts = tools.map((tool) => ({
    tool: `t${tool}`,
    side_effect: 'read',
    evidence_class: 'unverifiable',
    commit_requirement: 'reported',
    arguments: schemaOf(tool),
  }))
  // Each step is a slice, so that a fast machine lets others in as often as a slow one.
  const { run } = createTurns({ sliceMs: 0 })
  const prepared = run(by('one'), preparePlanInSteps({ plan_version: 1, session: {}, contracts }))
  // Once for its shape, once for its rules.
  expect(await turnsDuring(prepared)).toBeGreaterThan(2 * tools.length)
  expect(await prepared).toMatchObject({ value: { ok: true } })
  const sources = tools.map((tool) => ({
    file: `${tool}.yaml`,
    value: { tool: `t${tool}`, arguments: schemaOf(tool) },
  }))
  const compiled = run(by('one'), compilePlanInSteps({ contracts: sources }))
  expect(await turnsDuring(compiled)).toBeGreaterThan(tools.length)
  expect(await compiled).toMatchObject({ value: { ok: true } })
})

test.each([
  ['the arguments', (schema: object) => ({ arguments: schema })],
  ['a rule', (schema: object) => ({ argument_value_invariants: [{ path: '$.a', schema }] })],
])('a schema of many patterns for %s lets others in, pattern by pattern', (_, rules) => {
  const patterns = Array.from({ length: 200 }, (_, at) => `[a-d]{1,9}x${at}`)
  const schema = { properties: Object.fromEntries(patterns.map((pattern, at) => [`p${at}`, { pattern }])) }
  const fixed = { side_effect: 'read', evidence_class: 'unverifiable', commit_requirement: 'reported' }
  const contracts = [{ tool: 'act', ...fixed, ...rules(schema) }]
  const steps = preparePlanInSteps({ plan_version: 1, session: {}, contracts })
  let taken = 0
  let step = steps.next()
  for (; step.done !== true; step = steps.next()) taken++
  expect(step.value).toMatchObject({ ok: true })
  expect(taken).toBeGreaterThan(200)
})

/** Works for `steps` slices, and writes its name down when it is done. */
function* work(name: string, steps: number, done: string[]): Steps<string> {
  for (let at = 0; at < steps; at++) {
    const until = performance.now() + 25
    while (performance.now() < until);
    yield
  }
  if (name === 'fails') throw new Error(name)
  done.push(name)
  return name
}

test("an owner's long works are done one after another, short ones at once, and one that fails holds up no other", async () => {
  const { run } = createTurns()
  const done: string[] = []
  const all = [
    run(by('one'), work('first', 3, done)),
    run(by('one'), work('fails', 3, done)),
    run(by('one'), work('second', 3, done)),
    run(by('other'), work('short', 0, done)),
  ]
  expect(done).toEqual(['short'])
  const outcomes = await Promise.allSettled(all)
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
  expect(done).toEqual(['short', 'first', 'second'])
})

test('works start at once until their owner had a slice, and then wait', async () => {
  const done: string[] = []
  const begin = (sliceMs: number) => {
    const { run } = createTurns({ sliceMs })
    const inOneStep = (name: string) => asOneStep(() => runToEnd(work(name, 1, done)))
    return Promise.all(['first', 'second', 'third'].map((name) => run(by('one'), inOneStep(name))))
  }
  const atOnce = begin(60_000)
  expect(done.splice(0)).toEqual(['first', 'second', 'third'])
  // The first takes longer than that.
  const inTurn = begin(20)
  expect(done).toEqual(['first'])
  await Promise.all([atOnce, inTurn])
  expect(done).toEqual(['first', 'second', 'third'])
})

test('owners take turns: one work of another owner does not wait for all that came before it', async () => {
  const { run } = createTurns()
  const done: string[] = []
  const crowd = Array.from({ length: 8 }, (_, at) => run(by('crowd'), work(`crowd ${at}`, 3, done)))
  await Promise.all([...crowd, run(by('other'), work('other', 3, done))])
  expect(done.indexOf('other')).toBeLessThan(2)
})

test('what was accepted does not wait behind what its owner uploads, and is never refused', async () => {
  const { run, waiting } = createTurns({ perOwner: 2, inAll: 4 })
  const done: string[] = []
  const uploads = ['a', 'b'].map((name) => run(by('one'), work(name, 4, done)))
  await expect(run(by('one'), work('c', 1, done))).rejects.toMatchObject({ code: 'RATE_LIMITED' })
  const owed = ['d', 'e', 'f'].map((name) => run(by('one', true), work(name, 1, done)))
  expect(waiting()).toBe(5)
  await Promise.all([...uploads, ...owed])
  expect(done.indexOf('d')).toBeLessThan(done.indexOf('a'))
  expect(done).toHaveLength(5)
})

test('between slices the thread belongs to others for twice as long', async () => {
  const { run } = createTurns({ maxRestMs: 10_000 })
  const done: string[] = []
  const startedAt = performance.now()
  const { ms } = await run(by('one'), work('long', 8, done))
  // A rest is never shorter than asked for; how much longer depends on the machine.
  expect(performance.now() - startedAt).toBeGreaterThan(ms * 2)
})

test('for what started at once the thread belongs to others as long, too', async () => {
  const { run } = createTurns({ maxRestMs: 10_000 })
  const done: string[] = []
  const startedAt = performance.now()
  const long = run(by('one'), work('long', 3, done))
  const short = run(
    by('other'),
    asOneStep(() => runToEnd(work('short', 1, done))),
  )
  await Promise.all([long, short])
  // Three slices of 25 ms with a rest of 50 each, and 50 for the short one, which was done in 25 ms of the first rest.
  expect(performance.now() - startedAt).toBeGreaterThan(240)
})
