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

/** Open on one day that is neither near nor a Thursday, when the clock of local cases begins: closed at any time. */
function closedHours(): Case {
  const weekday = new Intl.DateTimeFormat('en', { weekday: 'short', timeZone: 'UTC' })
  const later = [3, 4].map((days) => weekday.format(Date.now() + days * 86_400_000).toLowerCase())
  const day = later.find((name) => name !== 'thu') ?? ''
  const hours = { time_zone: 'UTC', allow: [{ days: day, from: '00:00', to: '24:00' }] }
  const [model] = loadCases('server')
  if (model === undefined) throw new Error('there is no case')
  return {
    ...model,
    name: 'closed hours',
    session: undefined,
    contracts: [{ tool: 'pay', hours }],
    steps: [{ calls: [{ tool: 'pay' }], removed: { pay: 'forbidden_in_state' }, expect: ['forbidden_tool'] }],
  }
}

proves(['contract.hours'], 'hours block by the clock of the server, and of the process', async () => {
  const run = closedHours()
  const local = differences(run, await runCaseLocally(run))
  expect(local.seen).toEqual(local.expected)
  const onServer = differences(run, await runCaseOnServer(run, runtime))
  expect(onServer.seen).toEqual(onServer.expected)
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
