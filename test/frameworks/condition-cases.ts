import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  type Contract,
  type JsonValue,
  type SessionDefinition,
  type Story,
  storyFileSchema,
} from '@countersign/protocol'
import { parse } from 'yaml'
import { type Case as EngineCase, isTurn, loadCases, type TurnStep, toolsOf } from '../support/cases/cases.js'
import { runCaseOnEngine } from '../support/cases/run-case.js'
import { type Case, ledgerLines, type ScriptedTurn } from './story.js'

type Evidence = 'executed' | 'reported'

/**
 * The cases and stories of conditions, as far as an agent can live through them; what must come of them the engine says.
 * `reported`: nothing of ours runs the tools.
 */
export const conditionCases = (evidence: Evidence): readonly Case[] =>
  [...loadCases('server').filter(({ file }) => file === 'conditions.json'), ...storyCases()]
    .filter(isLived)
    .map((written) => caseOf(written, evidence))

const RULES = fileURLToPath(new URL('../../examples/rules/', import.meta.url))

/** The stories of the guide whose rules have conditions, look at the newest result, or bind rows. */
function storyCases(): EngineCase[] {
  return readdirSync(RULES).flatMap((folder) => {
    const files = readdirSync(`${RULES}${folder}`)
    const texts = new Map(files.map((file) => [file, readFileSync(`${RULES}${folder}/${file}`, 'utf8')]))
    if (!/\b(when|latest|each):/.test([...texts.values()].join('\n'))) return []
    const read = (wanted: (file: string) => boolean) =>
      files.filter(wanted).map((file) => parse(texts.get(file) ?? '') as unknown)
    const isStory = (file: string) => file.endsWith('.test.yaml')
    const stories = read(isStory).flatMap((file) => storyFileSchema.parse(file).stories)
    const contracts = read((file) => !isStory(file) && file !== 'session.yaml') as Contract[]
    const [session] = read((file) => file === 'session.yaml') as SessionDefinition[]
    const about = { file: folder, faces: ['server'] as const, gate: 'strip_blocked', unmatchedPolicy: 'block' } as const
    return stories
      .filter(({ steps }) => steps.every(({ at }) => at === undefined))
      .map(({ name, labels, principal, steps }) => ({
        ...about,
        ...{ name: `${folder}: ${name}`, contracts, session, labels, principal, steps: steps.map(turnOf) },
      }))
  })
}

function turnOf({ call, with: args = {}, result = null, fails, answer = 'approve' }: Story['steps'][number]): TurnStep {
  // biome-ignore lint/suspicious/noThenProperty: the cases' word for what becomes of the calls; nobody awaits a step
  return { calls: [{ tool: call, args }], expect: [], then: [{ result, answer, ...(fails && { outcome: 'failed' }) }] }
}

/** Nobody changes such a session from outside, and each of its calls runs and is reported. */
function isLived({ session, steps, contracts }: EngineCase): boolean {
  const tools = contracts.map(({ tool }) => tool)
  return (
    session === undefined &&
    steps.every(
      (step) =>
        isTurn(step) &&
        step.flows === undefined &&
        step.calls.every(({ tool }) => tools.includes(tool)) &&
        (step.then ?? []).every(
          (end) => end?.evidence !== 'reported' && (end?.outcome ?? 'failed') === 'failed' && end?.answer !== 'timeout',
        ),
    )
  )
}

function caseOf(written: EngineCase, evidence: Evidence): Case {
  const turns = written.steps.filter(isTurn).map((step) => withEnds(step, evidence))
  const end: TurnStep = { calls: [], content: 'done', expect: [] }
  const run: EngineCase = { ...written, gate: 'strip_blocked', steps: [...turns, end] }
  const judged = runCaseOnEngine(run)
  const outcomes: Record<string, Outcome[]> = {}
  const told: Record<string, string> = {}
  const ran: string[] = []
  let last = 0
  const scripted = turns.map(({ calls, then = [] }, turn): ScriptedTurn => {
    const { decisions = [], stopped = [] } = judged.turns[turn] ?? {}
    return {
      calls: calls.map(({ tool, args = {} }, at) => {
        const id = `c${++last}`
        const what = `${tool} ${JSON.stringify(args)}`
        const { outcome, result = null, answer = 'approve' } = then[at] ?? {}
        const { decision, remedy } = decisions[at] ?? {}
        const words = written.contracts.flatMap(messagesIn).find((message) => remedy?.includes(message))
        if (words !== undefined) told[id] = words
        if (decision === 'allow') {
          if (stopped[at] == null) ran.push(what)
          outcomes[what] = [...(outcomes[what] ?? []), { fails: outcome === 'failed', result, answer }]
        }
        return { id, name: tool, args }
      }),
    }
  })
  return {
    id: written.name,
    name: `conditions: ${written.name}`,
    contracts: written.contracts,
    options: {
      labels: written.labels,
      ...(written.principal !== undefined && { principal: written.principal }),
    },
    outcomes,
    asks: judged.turns.some(({ decisions }) => decisions.some((one) => one.checkpoint_required)),
    together: turns.some(({ calls }) => calls.length > 1),
    turns: [...scripted, { text: 'done' }],
    expected: {
      offered: judged.turns.map(({ removed }, at) =>
        toolsOf(run, turns[at] ?? end)
          .filter((tool) => removed[tool] === undefined)
          .sort(),
      ),
      ran,
      told,
      ledger: ledgerLines(judged.events).map((line) => line.replace('not_executed executed', 'not_executed reported')),
    },
  }
}

type Outcome = NonNullable<Case['outcomes']>[string][number]

/** Each call that is allowed runs, and each question is answered. */
function withEnds(step: TurnStep, evidence: Evidence): TurnStep {
  // biome-ignore lint/suspicious/noThenProperty: the cases' word for what becomes of the calls; nobody awaits a step
  return { ...step, then: step.calls.map((_, at) => ({ answer: 'approve', ...step.then?.[at], evidence })) }
}

/** What the owner of the rules has to say. */
function messagesIn(part: unknown): string[] {
  if (typeof part !== 'object' || part === null) return []
  return Object.entries(part).flatMap(([key, value]: [string, JsonValue]) =>
    key === 'message' && typeof value === 'string' ? [value] : messagesIn(value),
  )
}
