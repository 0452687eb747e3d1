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
import { UNMATCHED_FLAGS, UNMATCHED_USAGE, unmatchedPolicyOf } from '../terminal/unmatched-policy.js'

export const run: Command = {
  usage: [
    `run FOLDER --agent NAME [--max-sessions N] ${UNMATCHED_USAGE} [--junit FILE] [--json] [--url URL] [--key KEY]`,
    `run FOLDER --fixtures FOLDER ${UNMATCHED_USAGE} [--junit FILE] [--json] [--url URL] [--key KEY]`,
  ],
  summary: "backtest a contract pack against an agent's captured sessions or against fixtures, for CI",
  help: () =>
    [
      'A fixture is a JSON file with one session: { name, user, turns: [{ calls: [{ name, arguments, result, expect }] }] }.',
      'Captured sessions are checked newest first; calls that were blocked when captured must be blocked again.',
      'Without --url and --key, COUNTERSIGN_API_URL and COUNTERSIGN_API_KEY are used.',
      'Exit codes: 0 every session went as expected; 1 some did not, there were none, or the run failed; 2 wrong usage.',
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
      ...UNMATCHED_FLAGS,
      junit: text,
      json: { type: 'boolean' },
    },
    allowPositionals: true,
  })
  const [folder, ...rest] = positionals
  if (folder === undefined || rest.length > 0) throw new UsageError('expected one folder with contracts')
  if ((values.agent === undefined) === (values.fixtures === undefined)) {
    throw new UsageError('give either --agent NAME or --fixtures FOLDER')
  }
  const maxSessions = Number(values['max-sessions'] ?? 1_000)
  if (!Number.isInteger(maxSessions) || maxSessions < 1 || maxSessions > 10_000) {
    throw new UsageError('--max-sessions must be 1 to 10000')
  }
  const unmatched = unmatchedPolicyOf(values)
  const { agent, fixtures, junit } = values
  if (junit !== undefined && !existsSync(dirname(junit)))
    throw new UsageError(`--junit: the folder ${dirname(junit)} does not exist`)
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
  if (!existsSync(folder)) throw new UsageError(`--fixtures: the folder ${folder} does not exist`)
  const files = readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .sort()
  if (files.length === 0) throw new UsageError(`${folder} has no fixtures; a fixture is a JSON file with one session`)
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
/** After this many polls they get slower, so that a long run does not use up the tenant's read quota. */
const QUICK_POLLS = 10
const MAX_FAILED_POLLS = 30

/** Reports progress now and then. A server that is briefly busy or unreachable is asked again. */
async function untilDone(service: Service, started: RunView, { note }: Terminal): Promise<RunView> {
  let view = started
  let failedPolls = 0
  for (let polls = 0; view.status === 'queued' || view.status === 'running'; polls++) {
    if (polls % QUICK_POLLS === 0) note(`run ${view.run_id}: ${view.status}, ${view.sessions_done} sessions checked`)
    await sleep(polls < QUICK_POLLS ? POLL_MS : SLOW_POLL_MS)
    try {
      view = (await callRoute(service, 'loadRun', { params: { run_id: view.run_id } })).run
      failedPolls = 0
    } catch (error) {
      if (!isTemporary(error) || ++failedPolls > MAX_FAILED_POLLS) throw error
    }
  }
  return view
}

const isTemporary = (error: unknown): boolean =>
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
  if (report.sessions === 0) note(`error nothing to check: no captured session of ${given.agent} has arguments`)
  return report.sessions > 0 && report.sessions_passed === report.sessions ? 0 : 1
}

function writeJunit(file: string | undefined, xml: string): void {
  if (file !== undefined) writeFileSync(file, xml)
}
