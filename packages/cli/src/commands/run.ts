import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { parseStrictJson } from '@countersign/engine'
import { type RunFixture, type RunReport, type RunView, runFixtureSchema } from '@countersign/protocol'
import { prepareContracts, ReplayConfigError } from '@countersign/sdk'
import { callRoute, RefusedError, type Service, serviceOf } from '../call-route.js'
import { type Command, type Terminal, UsageError } from '../command.js'
import { junitOf } from '../junit.js'
import { loadPolicyEvaluator } from '../policy.js'

export const run: Command = {
  usage:
    'run FOLDER (--agent NAME | --fixtures FOLDER) --url URL --key KEY [--max-sessions N] [--unmatched block|allow] [--junit FILE] [--json]',
  summary: "backtest a pack of contracts against an agent's captured sessions, or against fixtures, for CI",
  help: () =>
    [
      'Fixtures are JSON files, one session each: { name, user, turns: [{ calls: [{ name, arguments, result, expect }] }] }.',
      'Exit code 0: every session went as expected; 1: some did not, or the run failed; 2: wrong usage.',
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
    throw new UsageError(`${file}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not a fixture'}`)
  })
}

const POLL_MS = 500

/** Says once in a while that it is still waiting. */
async function untilDone(service: Service, started: RunView, { note }: Terminal): Promise<RunView> {
  let view = started
  for (let polls = 0; view.status === 'queued' || view.status === 'running'; polls++) {
    if (polls % 10 === 0) note(`run ${view.run_id}: ${view.status}`)
    await sleep(POLL_MS)
    view = (await callRoute(service, 'loadRun', { params: { run_id: view.run_id } })).run
  }
  return view
}

function conclude(
  view: RunView,
  given: { json: boolean; junit: string | undefined },
  { print, note }: Terminal,
): number {
  const { report } = view
  if (report === null) {
    note(`error the run failed: ${view.error ?? 'no reason given'}`)
    return 1
  }
  if (given.junit !== undefined) writeFileSync(given.junit, junitOf(report, 'countersign run'))
  print(given.json ? JSON.stringify(view) : summaryOf(report))
  return report.sessions_passed === report.sessions ? 0 : 1
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`

function summaryOf(report: RunReport): string {
  const uncovered = report.coverage_by_tool.filter(({ covered }) => !covered).map(({ tool_name }) => tool_name)
  return [
    `${report.sessions_passed} of ${report.sessions} sessions as expected (${percent(report.pass_rate)})`,
    `${report.calls_blocked} of ${report.calls} calls blocked, ${percent(report.coverage)} covered by contracts`,
    ...Object.entries(report.would_block).map(([reason, count]) => `  ${reason}: ${count}`),
    ...(uncovered.length > 0 ? [`without contract: ${uncovered.join(', ')}`] : []),
    ...report.divergences.map(
      ({ session, turn, call, tool_name, expected, decision, reasons }) =>
        `  ${session}: turn ${turn + 1}, call ${call + 1}: ${tool_name} expected ${expected}, was ${decision}${reasons.length > 0 ? ` (${reasons.join(', ')})` : ''}`,
    ),
  ].join('\n')
}
