import { randomUUID } from 'node:crypto'
import type { ApprovalRequest, WorkflowDefinition } from '@countersign/protocol'
import { expect, type TestOptions } from 'vitest'
import { openSession, type ReplayOptions } from '../../packages/sdk/src/index.js'
import { exportOf } from '../support/runtime/ledger-export.js'
import type { Runtime } from '../support/runtime/runtime.js'
import { CASES } from './cases.js'
import { conditionCases } from './condition-cases.js'
import { type Case, type Face, ledgerLines, type Story } from './story.js'

type Prove = (name: string, tell: () => Promise<void>, options: TestOptions) => void

/** Tells every case through one face, against the real server. `prove` says which requirement that proves. */
export function tellCases(face: Face, runtime: Runtime, prove: Prove): void {
  for (const item of [...CASES, ...conditionCases('executed')]) {
    const lack = face.lacks[item.id] ?? (item.together ? face.seesOneCallAtATime : undefined)
    const name = `${face.name}: ${item.name}${lack === undefined ? '' : ` (${lack})`}`
    prove(name, () => tellCase(face, runtime, itemFor(face, item)), { skip: lack !== undefined })
  }
}

/** The case as it goes through a face that sees less of an agent than the others do. */
function itemFor({ judgesOnlyCalls, seesOneCallAtATime }: Face, item: Case): Case {
  const { contracts, expected, subAgent, turns } = item
  const inOrder = (ledger: readonly string[]) => (seesOneCallAtATime === undefined ? ledger : oneByOne(ledger))
  const everything =
    item.outcomes === undefined
      ? (expected.offered.at(-1) ?? ['look', 'pay'])
      : contracts.map(({ tool }) => tool).sort()
  const requests = turns.reduce((sum, { failures = 0 }) => sum + failures + 1, 0)
  return {
    ...item,
    ...(subAgent !== undefined && { subAgent: { ...subAgent, ledger: inOrder(subAgent.ledger) } }),
    expected: {
      ...expected,
      ...(judgesOnlyCalls !== undefined && { offered: Array.from({ length: requests }, () => everything) }),
      ledger: inOrder(expected.ledger),
    },
  }
}

/** The receipt of a call of an answer stands before the next proposal. */
function oneByOne(ledger: readonly string[]): string[] {
  const idOf = (line: string) => line.split(' ')[1]
  const lines: string[] = []
  for (const line of ledger) {
    const isReceipt = line.startsWith('receipt') && /^(proposed|receipt)/.test(lines.at(-1) ?? '')
    const proposal = isReceipt
      ? lines.findLastIndex((one) => one.startsWith('proposed') && idOf(one) === idOf(line))
      : -1
    lines.splice(proposal < 0 ? lines.length : proposal + 1, 0, line)
  }
  return lines
}

async function tellCase(face: Face, runtime: Runtime, item: Case): Promise<void> {
  const { expected } = item
  const told: Told = { ran: [], log: [], subSessions: [] }
  const story = storyOf(face, runtime, item, told)
  const agent = await face.open(story)
  const error = await Promise.all(Array.from({ length: item.runs ?? 1 }, () => agent.run())).then(
    () => null,
    (thrown: unknown) => thrown,
  )
  if (item.subAgent !== undefined) await expectHandedOver(agent.session)
  await agent.close()
  const requests = agent.requests()
  const results = Object.assign({}, ...requests.map((request) => request.results))
  const reported = face.judgesOnlyCalls === undefined ? String(error) : JSON.stringify(results)
  if (item.serverIsDown)
    expect(reported).toMatch(face.judgesOnlyCalls === undefined ? /server|unavailable|reach/i : /could not be judged/)
  if (face.judgesOnlyCalls !== undefined || !(item.serverIsDown || item.diesAfterRun)) expect(error).toBeNull()
  expect(told.ran.sort()).toEqual([...expected.ran].sort())
  expect(requests.map(({ offered }) => [...offered].sort())).toEqual(expected.offered)
  for (const [id, words] of Object.entries(expected.told)) expect(results[id]).toContain(words)
  expect(seenTooEarly(item, told.log)).toEqual([])
  if (item.serverIsDown) return
  const { sessionId } = agent.session
  if (item.diesAfterRun) await takeOver({ ...story.options, fetch: runtime.fetch, sessionId })
  const linesOf = async (id: string) => ledgerLines((await exportOf(runtime.api(), id)).events)
  expect(await linesOf(sessionId)).toEqual([...expected.ledger, 'ended'])
  for (const id of told.subSessions) expect(await linesOf(id)).toEqual([...(item.subAgent?.ledger ?? []), 'ended'])
}

/** What happens while a story is told. */
interface Told {
  readonly ran: string[]
  readonly log: string[]
  readonly subSessions: string[]
}

function storyOf(face: Face, runtime: Runtime, item: Case, told: Told): Story {
  const outcomes = outcomesOf(item)
  const tool = (name: string) => (args: object) => {
    told.ran.push(`${name} ${JSON.stringify(args)}`)
    const outcome = outcomes.run(name, args)
    if (outcome?.fails) throw new Error(`${name} is broken`)
    if (outcome !== undefined) return outcome.result
    if (item.failing?.includes(name)) throw new Error(`${name} is broken`)
    if (item.hanging?.includes(name)) return new Promise(() => {})
    return item.silent?.includes(name) ? undefined : { done: name }
  }
  const send: typeof fetch = async (input, init) => {
    if (item.serverIsDown || (item.diesAfterRun && told.ran.length > 0)) throw new TypeError('fetch failed')
    const answer = await runtime.fetch(input, init)
    if (String(input instanceof Request ? input.url : input).endsWith('/proposals')) told.log.push('judged')
    return answer
  }
  const story: Story = {
    // A program changes what it was given, and the cases are told more than once.
    turns: structuredClone(item.turns),
    tools:
      item.outcomes === undefined
        ? { look: tool('look'), pay: tool('pay') }
        : Object.fromEntries(item.contracts.map((contract) => [contract.tool, tool(contract.tool)])),
    stream: item.stream ?? false,
    changed: item.changed ?? {},
    changedInPlace: item.changedInPlace ?? {},
    log: told.log,
    options: {
      contracts: item.contracts,
      apiKey: runtime.key,
      fetch: send,
      agent: 'frameworks',
      onCheckpoint: (request) => ({
        checkpoint_id: request.checkpoint_id,
        decision: outcomes.answer(request),
        decided_by: 'ann',
        decided_at: new Date().toISOString(),
      }),
      ...item.options,
    },
  }
  return item.subAgent === undefined ? story : withSubAgent(face, story, item.subAgent, told)
}

/** What becomes of the next call of a tool with these arguments; one that a person refuses does not run. */
function outcomesOf({ outcomes = {} }: Case) {
  const left = new Map(Object.entries(outcomes).map(([call, list]) => [call, [...list]]))
  const answers = new Map<string, 'approve' | 'deny'>()
  const listOf = (name: string, args: unknown) => left.get(`${name} ${JSON.stringify(args)}`) ?? []
  return {
    run: (name: string, args: unknown) => listOf(name, args).shift(),
    /** A call may have several questions. */
    answer({ checkpoint_id, tool_name, arguments: args }: ApprovalRequest) {
      const [call = ''] = checkpoint_id.split('#')
      const list = listOf(tool_name, args)
      const answer = answers.get(call) ?? (list[0]?.answer === 'deny' ? 'deny' : 'approve')
      if (answer === 'deny' && !answers.has(call)) list.shift()
      answers.set(call, answer)
      return answer
    },
  }
}

const ASKING: WorkflowDefinition = {
  name: 'asking',
  roles: { asker: { root: true, tools: ['ask'] }, payer: { tools: ['pay'] } },
  handoffs: [{ from: 'asker', to: 'payer' }],
}

/** The tool `ask` runs an agent of the same face, under a session of its own. */
function withSubAgent(
  face: Face,
  story: Story,
  { turns }: NonNullable<Case['subAgent']>,
  { subSessions }: Told,
): Story {
  const workflowId = `wfl-${randomUUID()}`
  const { tools, options } = story
  const ask: Story['tools'][string] = async (_, session) => {
    let run: () => Promise<unknown> = async () => {}
    let end: () => Promise<unknown> = async () => {}
    await session.delegate(
      { toRole: 'payer' },
      async ({ handoff_id }) => {
        const workflow = { workflowId, role: 'payer', handoffId: handoff_id }
        const agent = await face.open({
          ...story,
          turns,
          tools: { pay: tools.pay! },
          options: { ...options, workflow },
        })
        run = agent.run
        end = agent.close
        subSessions.push(agent.session.sessionId)
        return agent.session
      },
      () => run(),
    )
    await end()
    return { done: 'ask' }
  }
  return {
    ...story,
    tools: { ask },
    options: { ...options, workflow: { workflowId, role: 'asker', definition: ASKING } },
  }
}

async function expectHandedOver(session: { getWorkflowState(): Promise<object> }): Promise<void> {
  expect(await session.getWorkflowState()).toMatchObject({
    sessions: [{ role: 'asker' }, { role: 'payer' }],
    handoffs: [{ from_role: 'asker', to_role: 'payer', state: 'completed' }],
  })
}

/** As another process does that goes on after the first was lost. */
async function takeOver(options: ReplayOptions): Promise<void> {
  const session = openSession({ ...options, takeover: true })
  const turn = await session.prepare({ model: 'gpt-test', tools: ['look'] })
  await turn.abandon()
  await session.close()
}

/** The calls of which a part was shown before anything was judged. */
const seenTooEarly = ({ stream }: Case, log: readonly string[]): string[] =>
  stream ? log.slice(0, log.indexOf('judged')).filter((line) => line.startsWith('saw')) : []
