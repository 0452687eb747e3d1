import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { type Case, compareTurn, isTurn, loadCases, type ObservedTurn } from '../../support/cases/cases.js'
import { runCaseLocally, runCaseOnServer } from '../../support/cases/run-case-sdk.js'
import { PATIENCE_MS } from '../../support/data/rounds.js'
import { proves } from '../../support/proves.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime } = await withRuntime()

/** Time does not pass at will on a server. */
const runsOnServer = ({ steps }: Case): boolean =>
  steps.every((step) => isTurn(step) || step.wait_seconds === undefined)

function differences(run: Case, turns: readonly ObservedTurn[]) {
  const steps = run.steps.filter(isTurn)
  const compared = steps.map((step, at) => {
    const seen = turns[at]
    if (seen === undefined) throw new Error(`turn ${at} of "${run.name}" was not taken`)
    return compareTurn(step, seen)
  })
  return { seen: compared.map(({ seen }) => seen), expected: compared.map(({ expected }) => expected) }
}

describe('every case by the SDK without a server', () => {
  test.each(loadCases('local').map((run) => [`${run.file} ${run.name}`, run] as const))('%s', async (_, run) => {
    const { seen, expected } = differences(run, await runCaseLocally(run))
    expect(seen).toEqual(expected)
  })
})

proves(
  ['turn.server-decides', 'block.output-invariant-failed'],
  'every case by the server decides as by the engine',
  async () => {
    const cases = loadCases('server').filter(runsOnServer)
    expect(cases.length).toBeGreaterThan(200)
    const wrong: unknown[] = []
    const judge = async (run: Case) => {
      const { seen, expected } = differences(run, await runCaseOnServer(run, runtime))
      if (!isDeepStrictEqual(seen, expected)) wrong.push({ name: `${run.file} ${run.name}`, seen, expected })
    }
    for (let at = 0; at < cases.length; at += 8) await Promise.all(cases.slice(at, at + 8).map(judge))
    expect(wrong).toEqual([])
  },
  PATIENCE_MS,
)
