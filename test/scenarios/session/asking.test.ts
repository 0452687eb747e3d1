import { verifyExport } from '@countersign/engine'
import OpenAI from 'openai'
import { afterEach, expect } from 'vitest'
import {
  askPeople,
  openSession,
  type ReplayOptions,
  ReplayParkedError,
  replay,
  type Session,
} from '../../../packages/sdk/src/index.js'
import { answerAs } from '../../support/people/answering.js'
import { proves } from '../../support/proves.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

/** Programs, the service and a person, with nothing in place of any of them. */
const { runtime, owner, key } = await withOwnedRuntime()

const pay = {
  tool: 'pay',
  side_effect: 'write' as const,
  checkpoint: { when: [{ path: '$.amount', gt: 200 }], reason: 'large payment', ask: {} },
}
const find = { tool: 'find', side_effect: 'read' as const }
const lowered = {
  ...pay,
  argument_value_invariants: [{ path: '$.amount', gte: 1 }],
  checkpoint: { ...pay.checkpoint, ask: { edit: [{ path: '$.amount', to: 'lower' as const }] } },
}

const open: Session[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((session) => session.close().catch(() => {})))
})

let last = 0
const newId = (): string => `ses-asking-${++last}`

function start(sessionId: string, options: Partial<ReplayOptions> = {}) {
  const ran: unknown[] = []
  const given: Omit<ReplayOptions, 'tools'> = {
    ...{ contracts: [pay, find], apiKey: key, fetch: runtime.fetch, diagnostics: () => {}, sessionId },
    ...options,
  }
  const tools = { pay: async (args: object) => ran.push(args) && 'paid', find: async () => 'found' }
  const session: Session = openSession({ ...given, tools })
  open.push(session)
  const turn = async (id: string, args: object, name = 'pay') => {
    const prepared = await session.prepare({ model: 'm', tools: ['pay', 'find'] })
    const [verdict] = await prepared.propose({ calls: [{ id, name, arguments: args }] })
    return { verdict, feedback: prepared.feedback }
  }
  return { session, ran, turn }
}

const idOf = (verdict: unknown): string => (verdict as { id: string }).id

proves(['ask.resume', 'ask.park'], 'asked by one program, answered by a person, run once by another', async () => {
  const id = newId()
  const first = start(id)
  const { verdict } = await first.turn('c1', { amount: 900 })
  const [parked] = await first.session.park()
  expect(parked).toMatchObject({ questionId: idOf(verdict), tool: 'pay', url: expect.stringContaining(idOf(verdict)) })
  const second = start(id)
  expect(await second.session.resume(idOf(verdict))).toMatchObject({ ran: false })
  expect(await answerAs(owner, idOf(verdict), { decision: 'approve' })).toBe(200)
  const resumed = await Promise.all([second.session.resume(idOf(verdict)), second.session.resume(idOf(verdict))])
  expect(resumed.filter(({ ran }) => ran)).toHaveLength(1)
  expect(await second.session.resume(idOf(verdict))).toMatchObject({
    ran: false,
    result: `${idOf(verdict)} was used up: a call of pay was allowed by it.`,
  })
  expect([...first.ran, ...second.ran]).toEqual([{ amount: 900 }])
  const { events } = await exportOf(runtime.api(key), id)
  expect(events.map(({ type }) => type)).toContain('answered')
})

proves(
  'ask.edited',
  'asked by one program, lowered by a person, run as changed by another, which reads why',
  async () => {
    const id = newId()
    const contracts = [lowered, find]
    const first = start(id, { contracts })
    const { verdict } = await first.turn('c1', { amount: 900, to: 'ann' })
    const question = idOf(verdict)
    await first.session.park()
    const change = (amount: number) =>
      answerAs(owner, question, { decision: 'approve', note: 'Half of it', arguments: { amount, to: 'ann' } })
    expect([await change(901), await change(0), await change(50)]).toEqual([400, 400, 200])
    const second = start(id, { contracts })
    expect(await second.session.questions()).toMatchObject([
      { state: 'approved', isEdited: true, arguments: { amount: 50, to: 'ann' } },
    ])
    expect(await second.session.resume(question)).toMatchObject({
      ran: true,
      note: 'A person changed amount from 900 to 50: Half of it. This is the result of the changed call.',
    })
    expect(await second.session.resume(question)).toMatchObject({ ran: false })
    expect([...first.ran, ...second.ran]).toEqual([{ amount: 50, to: 'ann' }])
    const exported = await exportOf(runtime.api(key), id)
    expect(verifyExport(exported)).toMatchObject({ ok: true })
  },
)

proves('ask.waits', 'a turn waits for people, and runs what they approve', async () => {
  const asked: string[] = []
  const client = new OpenAI({
    apiKey: 'k',
    maxRetries: 0,
    fetch: async () =>
      Response.json({
        ...{ id: 'c', object: 'chat.completion', created: 0, model: 'm' },
        choices: [
          {
            ...{ index: 0, finish_reason: 'tool_calls' },
            message: {
              ...{ role: 'assistant', content: null },
              tool_calls: [{ id: 'c1', type: 'function', function: { name: 'pay', arguments: '{"amount":900}' } }],
            },
          },
        ],
      }),
  })
  const session = replay(client, {
    ...{ contracts: [pay], apiKey: key, fetch: runtime.fetch, sessionId: newId() },
    tools: { pay: async () => 'paid' },
    onCheckpoint: askPeople({ waitSeconds: 30 }),
    diagnostics: (event) => {
      if (event.type === 'question_asked') asked.push(event.question_id)
    },
  })
  open.push(session as unknown as Session)
  const ask = () =>
    session.client.chat.completions.create({
      model: 'm',
      messages: [{ role: 'user', content: 'go' }],
      tools: [{ type: 'function', function: { name: 'pay' } }],
    })
  const turn = ask()
  await expect.poll(() => asked.length).toBe(1)
  await answerAs(owner, asked[0] ?? '', { decision: 'approve' })
  expect((await turn).choices[0]?.message.tool_calls).toHaveLength(1)
  expect(await session.tools.pay({ amount: 900 })).toBe('paid')
  const refused = ask().catch((error: unknown) => error)
  await expect.poll(() => asked.length).toBe(2)
  await answerAs(owner, asked[1] ?? '', { decision: 'deny', note: 'Once is enough' })
  const error = await refused
  expect(error).not.toBeInstanceOf(ReplayParkedError)
  expect(error).toMatchObject({ message: 'A person refused this call of pay: Once is enough.' })
})

proves('ask.resume', 'another amount, and the same call in another session, are other questions', async () => {
  const one = start(newId())
  const { verdict } = await one.turn('c1', { amount: 900 })
  await answerAs(owner, idOf(verdict), { decision: 'approve' })
  const changed = await one.turn('c2', { amount: 901 })
  expect(changed.verdict).toMatchObject({ verdict: 'ask' })
  expect(idOf(changed.verdict)).not.toBe(idOf(verdict))
  const other = start(newId())
  expect((await other.turn('c1', { amount: 900 })).verdict).toMatchObject({ verdict: 'ask' })
  // The model's repeat of the approved one passes, and was told so.
  const repeated = await one.turn('c3', { amount: 900 })
  expect(repeated.verdict).toMatchObject({ verdict: 'allow' })
  expect(await one.session.run('c3')).toBe('paid')
})

proves('ask.resume', 'a limit that was used up meanwhile blocks the call, and its answer stays', async () => {
  const contracts = [{ ...pay, aggregates: [{ name: 'paid', path: '$.amount', lte: 1_000 }] }, find]
  const { session, turn, ran } = start(newId(), { contracts })
  const { verdict } = await turn('c1', { amount: 900 })
  await turn('c2', { amount: 200 })
  await session.run('c2')
  await answerAs(owner, idOf(verdict), { decision: 'approve' })
  expect(await session.resume(idOf(verdict))).toMatchObject({
    ran: false,
    error: { decision: { blocked: [{ reason: 'aggregate_limit_exceeded' }] } },
  })
  expect(await session.questions()).toMatchObject([{ state: 'approved' }])
  expect(ran).toEqual([{ amount: 200 }])
})

proves('ask.kill', 'after a kill no answer is used, and none is taken', async () => {
  const id = newId()
  const { session, turn } = start(id)
  const approved = idOf((await turn('c1', { amount: 900 })).verdict)
  const waiting = idOf((await turn('c2', { amount: 901 })).verdict)
  await answerAs(owner, approved, { decision: 'approve' })
  session.kill()
  await session.flush()
  await expect(session.resume(approved)).resolves.toMatchObject({ ran: false })
  expect(await answerAs(owner, waiting, { decision: 'approve' })).toBe(409)
})

proves('ask.reads', 'a refused call is blocked however often it is made, and asks no one again', async () => {
  const id = newId()
  const { session, turn } = start(id)
  const { verdict } = await turn('c0', { amount: 900 })
  await answerAs(owner, idOf(verdict), { decision: 'deny', note: 'Not this month' })
  for (let again = 1; again <= 10; again++) {
    const repeated = await turn(`c${again}`, { amount: 900 })
    expect(repeated.verdict).toMatchObject({ verdict: 'block', reason: 'checkpoint_denied' })
    if (again === 1) expect(repeated.feedback).toBe('A person refused this call of pay: Not this month.')
    else expect(repeated.feedback).toBeNull()
  }
  expect(await session.questions()).toHaveLength(1)
})

proves('ask.withdraw', 'the holder withdraws a question; a decided one is decided', async () => {
  const { session, turn } = start(newId())
  const one = idOf((await turn('c1', { amount: 900 })).verdict)
  const two = idOf((await turn('c2', { amount: 901 })).verdict)
  expect(await session.withdraw(one)).toMatchObject({ state: 'withdrawn', cause: 'holder' })
  expect(await answerAs(owner, one, { decision: 'approve' })).toBe(409)
  await answerAs(owner, two, { decision: 'deny' })
  expect(await session.withdraw(two).catch(({ code }) => code)).toBe('QUESTION_DECIDED')
})

proves(
  'ask.own-question-survives',
  'a question of the program survives it, once and without another trigger',
  async () => {
    const id = newId()
    const own = { ...pay, checkpoint: { reason: 'large payment', timeout_seconds: 600 } }
    const contracts = [own, find]
    const first = start(id, { contracts })
    const { verdict } = await first.turn('c1', { amount: 900 })
    expect(verdict).toMatchObject({ verdict: 'ask', asks: 'program' })
    expect(await first.session.park()).toEqual([])
    const second = start(id, { contracts })
    expect(await second.session.proposeAgain({ callId: 'c1', tool: 'pay', args: { amount: 901 } })).toBeNull()
    const again = await second.session.proposeAgain({ callId: 'c1', tool: 'pay', args: { amount: 900 } })
    expect(again).toMatchObject({ verdict: 'ask', asks: 'program' })
    await second.session.answer(idOf(again), { decision: 'approve', decided_by: 'ann' })
    expect(await second.session.run('c1')).toBe('paid')
    const { state } = await exportOf(runtime.api(key), id)
    expect(state).toMatchObject({ checkpointsTriggered: 1 })
  },
)
