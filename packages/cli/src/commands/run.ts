import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { parseStrictJson } from '@countersign/engine'
import { type RunFixture, type RunView, runFixtureSchema } from '@countersign/protocol'
import { prepareContracts, ReplayConfigError } from '@countersign/sdk'
import { callRoute, RefusedError, type Service, serviceOf } from '../api/call-route.js'
import { loadPolicyEvaluator } from '../policy/load-policy-evaluator.js'
import { junitOf, junitOfError } from '../report/junit.js'
import { summaryOf } from '../report/run-summary.js'
import { type Command, type Terminal, UsageError } from '../terminal/command.js'

export const run: Command = {
  usage:
    'run FOLDER (--agent NAME | --fixtures FOLDER) [--url URL] [--key KEY] [--max-sessions N] [--unmatched block|allow] [--junit FILE] [--json]',
  summary: "backtest a pack of contracts against an agent's captured sessions, or against fixtures, for CI",
  help: () =>
    [
      'Fixtures are JSON files, one session each: { name, user, turns: [{ calls: [{ name, arguments, result, expect }] }] }.',
      'Captured sessions are judged newest first; calls that were blocked when captured are expected to be blocked again.',
      'Without --url and --key the variables COUNTERSIGN_API_URL and COUNTERSIGN_API_KEY are used.',
      'Exit code 0: every session went as expected; 1: some did not, there was none, or the run failed; 2: wrong usage.',
    ].join('\n'),
  run: async (args, terminal) => {
    const given = readArguments(args)
    try {
      const { compiled_session } = prepareContracts(given.folder, { policy: await loadPolicyEvaluator() })
      const against =
        given.fixtures === undefined
          ? { agent: given.agent ?? '', max_sessions: given.maxSessions }
          : { fixtures: readFixtures(given.fixtures) }
      const body = { run_id: randomUUID(), plan: { compiled_session }, against, unmatched_policy: given.unmatched }
      const started = await callRoute(given.service, 'createRun', { body })
      return conclude(await untilDone(given.service, started.run, terminal), given, terminal)
    } catch (error) {
      if (!(error instanceof RefusedError || error instanceof ReplayConfigError)) throw error
      terminal.note(`error ${error.message}`)
      if (error instanceof RefusedError) for (const problem of error.problems) terminal.note(`  ${problem}`)
      writeJunit(given.junit, junitOfError(error.message, SUITE))
      return 1
    }
  },
}

function readArguments(args: readonly string[]) {
  const text = { type: 'string' } as const
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      agent: text,
      fixtures: text,
      url: text,
      key: text,
      'max-sessions': text,
      unmatched: text,
      junit: text,
      json: { type: 'boolean' },
    },
    allowPositionals: true,
  })
  const [folder, ...rest] = positionals
  if (folder === undefined || rest.length > 0) throw new UsageError('expected one folder of contracts')
  if ((values.agent === undefined) === (values.fixtures === undefined)) {
    throw new UsageError('give either --agent NAME or --fixtures FOLDER')
  }
  const maxSessions = Number(values['max-sessions'] ?? 1_000)
  if (!Number.isInteger(maxSessions) || maxSessions < 1 || maxSessions > 10_000) {
    throw new UsageError('--max-sessions is 1 to 10000')
  }
  const unmatched = values.unmatched ?? 'block'
  if (unmatched !== 'block' && unmatched !== 'allow') throw new UsageError('--unmatched is block or allow')
  const { agent, fixtures, junit } = values
  if (junit !== undefined && !existsSync(dirname(junit))) throw new UsageError(`--junit: no folder ${dirname(junit)}`)
  return {
    folder,
    agent,
    fixtures,
    junit,
    maxSessions,
    unmatched,
    service: serviceOf(values),
    json: values.json === true,
  } as const
}

function readFixtures(folder: string): RunFixture[] {
  if (!existsSync(folder)) throw new UsageError(`--fixtures: no folder ${folder}`)
  const files = readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .sort()
  if (files.length === 0) throw new UsageError(`${folder} holds no fixtures: JSON files, one session each`)
  return files.map((file) => {
    const parsed = parseStrictJson(readFileSync(join(folder, file), 'utf8'))
    if (!parsed.ok) throw new UsageError(`${file}: ${parsed.problem}`)
    const fixture = runFixtureSchema.safeParse(parsed.value)
    if (fixture.success) return fixture.data
    const [issue] = fixture.error.issues
    throw new UsageError(`${file}: ${issue?.path.join('.') || 'the file'}: ${issue?.message ?? 'not a fixture'}`)
  })
}

const POLL_MS = 500
const SLOW_POLL_MS = 2_000
/** Polls after which it is a long run: asked for less often, so that CI does not use up the tenant's reads. */
const PATIENCE = 10
const MAX_TROUBLES = 30

/** Says once in a while how far it is. A service that is busy or away for a moment is asked again. */
async function untilDone(service: Service, started: RunView, { note }: Terminal): Promise<RunView> {
  let view = started
  let troubles = 0
  for (let polls = 0; view.status === 'queued' || view.status === 'running'; polls++) {
    if (polls % PATIENCE === 0) note(`run ${view.run_id}: ${view.status}, ${view.sessions_done} sessions judged`)
    await sleep(polls < PATIENCE ? POLL_MS : SLOW_POLL_MS)
    try {
      view = (await callRoute(service, 'loadRun', { params: { run_id: view.run_id } })).run
      troubles = 0
    } catch (error) {
      if (!isPassing(error) || ++troubles > MAX_TROUBLES) throw error
    }
  }
  return view
}

const isPassing = (error: unknown): boolean =>
  error instanceof RefusedError && (error.status === null || error.status === 429 || error.status === 503)

const SUITE = 'countersign run'

function conclude(
  view: RunView,
  given: { json: boolean; junit: string | undefined; agent: string | undefined },
  { print, note }: Terminal,
): number {
  const { report } = view
  if (report === null) {
    const message = `the run failed: ${view.error ?? 'no reason given'}`
    note(`error ${message}`)
    writeJunit(given.junit, junitOfError(message, SUITE))
    return 1
  }
  writeJunit(given.junit, junitOf(report, SUITE))
  if (given.json || report.sessions > 0) print(given.json ? JSON.stringify(view) : summaryOf(report))
  if (report.sessions === 0) note(`error nothing to judge: no session with arguments was captured of ${given.agent}`)
  return report.sessions > 0 && report.sessions_passed === report.sessions ? 0 : 1
}

function writeJunit(file: string | undefined, xml: string): void {
  if (file !== undefined) writeFileSync(file, xml)
}
