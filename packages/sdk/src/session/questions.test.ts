import type { Contract } from '@countersign/protocol'
import OpenAI from 'openai'
import { afterEach, describe, expect } from 'vitest'
import { createAskingService } from '../../../../test/support/people/served-questions.js'
import { proves } from '../../../../test/support/proves.js'
import { blockOf } from '../base/block-of.js'
import { ReplayContractError, ReplayKillError, ReplayParkedError } from '../base/errors.js'
import { askPeople } from '../options/ask-people.js'
import type { ReplayOptions } from '../options/replay-options.js'
import { openSession } from './open-session.js'
import { replay } from './replay.js'
import type { Session } from './session.js'

const pay = {
  tool: 'pay',
  side_effect: 'write' as const,
  argument_value_invariants: [{ path: '$.amount', lte: 5_000 }],
  checkpoint: { when: [{ path: '$.amount', gt: 200 }], reason: 'large payment', ask: {} },
}
const find = { tool: 'find', side_effect: 'read' as const }

const open: Session[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((session) => session.close()))
})

const service = createAskingService

/** A process that holds, or goes on with, a session. */
function start(at: ReturnType<typeof service>, options: Omit<ReplayOptions, 'tools'> = {}) {
  const ran: unknown[] = []
  const events: { type: string }[] = []
  const session: Session = openSession({
    contracts: [pay, find],
    apiKey: 'k',
    runtimeUrl: 'http://service.test',
    fetch: at.fetch,
    diagnostics: (event) => events.push(event),
    tools: {
      pay: async (args: object) => ran.push(args) && `paid ${JSON.stringify(args)}`,
      find: async () => 'found',
    },
    sessionId: 'ses_1',
    ...options,
  })
  open.push(session)
  const turn = async (id: string, args: object, name = 'pay') => {
    const messages = [{ role: 'user' as const, text: 'go' }]
    const prepared = await session.prepare({ model: 'm', tools: ['pay', 'find'], messages })
    const calls = [{ id, name, arguments: args }]
    const [verdict] = await prepared.propose({ calls, finishReason: 'tool_calls' })
    return { verdict, feedback: prepared.feedback }
  }
  return { session, ran, events, turn, types: () => events.map(({ type }) => type) }
}

describe('openSession', () => {
  proves(['ask.resume', 'ask.park'], 'asks by a verdict, and another process runs the approved call once', async () => {
    const at = service()
    const first = start(at)
    const { verdict } = await first.turn('c1', { amount: 900 })
    const id = at.questions('ses_1')[0]?.question_id
    expect(verdict).toMatchObject({ verdict: 'ask', asks: 'people', id, confirms: true, questions: [] })
    expect(verdict).toMatchObject({ url: `http://127.0.0.1/questions/${id}` })
    expect(await first.session.run('c1')).toBe(`pay waits for a person, question ${id}. It has not run.`)
    expect(first.types()).toContain('question_asked')
    expect(await first.session.park()).toMatchObject([{ questionId: id, tool: 'pay' }])
    at.answer('ses_1', { decision: 'approve' })

    const second = start(at)
    expect(await second.session.questions()).toMatchObject([{ questionId: id, state: 'approved', callId: 'c1' }])
    expect(await second.session.resume(id ?? '')).toMatchObject({
      ran: true,
      result: 'paid {"amount":900}',
      callId: 'c1',
    })
    expect(await second.session.resume(id ?? '')).toMatchObject({
      ran: false,
      result: `${id} was used up: a call of pay was allowed by it.`,
    })
    expect([...first.ran, ...second.ran]).toEqual([{ amount: 900 }])
    expect(at.state('ses_1').stateVersion).toBe(1)
  })
})

/** A governed client whose model gives these answers in turn, the last one again and again. */
function startReplay(at: ReturnType<typeof service>, calls: Call[][], options: Omit<ReplayOptions, 'tools'> = {}) {
  const ran: unknown[] = []
  const events: { type: string }[] = []
  const requests: { messages: { role: string; content: string }[] }[] = []
  const client = new OpenAI({
    apiKey: 'k',
    maxRetries: 0,
    fetch: async (_, init) => {
      requests.push(JSON.parse(String(init?.body)))
      return Response.json(completion(calls[Math.min(requests.length, calls.length) - 1] ?? []))
    },
  })
  const session = replay(client, {
    contracts: [pay, find],
    apiKey: 'k',
    runtimeUrl: 'http://service.test',
    fetch: at.fetch,
    diagnostics: (event) => events.push(event),
    tools: {
      pay: async (args: object) => ran.push(args) && `paid ${JSON.stringify(args)}`,
      find: async () => ran.push('find') && 'found',
    },
    sessionId: 'ses_1',
    ...options,
  })
  open.push(session as unknown as Session)
  const definitions = ['pay', 'find'].map((name) => ({ type: 'function' as const, function: { name } }))
  const create = () =>
    session.client.chat.completions.create({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'go' }],
      tools: definitions,
    })
  return { session, ran, events, requests, create, types: () => events.map(({ type }) => type) }
}

type Call = readonly [id: string, name: string, args: object]

const completion = (calls: readonly Call[]) => ({
  ...{ id: 'c', object: 'chat.completion', created: 0, model: 'gpt-4o' },
  choices: [
    {
      index: 0,
      finish_reason: calls.length === 0 ? 'stop' : 'tool_calls',
      message: {
        role: 'assistant',
        content: calls.length === 0 ? 'done' : null,
        tool_calls: calls.map(([id, name, args]) => {
          return { id, type: 'function', function: { name, arguments: JSON.stringify(args) } }
        }),
      },
    },
  ],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
})

const caught = async (work: PromiseLike<unknown>): Promise<unknown> => {
  try {
    await work
  } catch (error) {
    return error
  }
  throw new Error('it did not throw')
}

describe('replay', () => {
  proves(
    ['ask.parks', 'ask.reads', 'ask.diagnostics'],
    'parks an answer whole, and lets its repeat run once a person has approved it',
    async () => {
      const at = service()
      const blocks: unknown[] = []
      const big: Call = ['c1', 'pay', { amount: 900 }]
      const one = startReplay(at, [[['c0', 'find', {}], big], [['c2', 'pay', { amount: 900 }]]], {
        onBlock: (decision) => blocks.push(decision),
        maxRetries: 2,
      })
      const error = await caught(one.create())
      const [question] = at.questions('ses_1')
      expect(error).toBeInstanceOf(ReplayParkedError)
      expect(error).toBeInstanceOf(ReplayContractError)
      const { question_id: questionId = '', url = '', expires_at: expiresAt = '' } = question ?? {}
      expect((error as ReplayParkedError).questions).toEqual([{ questionId, url, tool: 'pay', expiresAt }])
      expect((error as Error).message).toBe(`pay waits for a person, question ${questionId}. It has not run.`)
      expect(at.state('ses_1').open).toBeNull()
      expect({ blocks, requests: one.requests.length, triggers: at.state('ses_1').checkpointsTriggered }).toEqual({
        ...{ blocks: [], requests: 1, triggers: 1 },
      })

      at.answer('ses_1', { decision: 'approve' })
      const answer = await one.create()
      expect(answer.choices[0]?.message.tool_calls).toHaveLength(1)
      expect(one.requests[1]?.messages).toContainEqual({
        role: 'system',
        content: `A person approved pay, question ${questionId}. To run it, call it again with the same arguments.`,
      })
      await one.session.tools.pay({ amount: 900 })
      expect(one.ran).toEqual([{ amount: 900 }])
      expect(at.questions('ses_1')).toMatchObject([{ state: 'used' }])
      expect(one.types().filter((type) => type.startsWith('question_'))).toEqual([
        'question_asked',
        'question_answered',
      ])
    },
  )

  proves('ask.waits', 'waits for people off the turn queue, then has all of the answer judged again', async () => {
    const at = service()
    const asks = askPeople({ waitSeconds: 60 })
    const calls: Call[][] = [
      [
        ['c0', 'find', {}],
        ['c1', 'pay', { amount: 900 }],
      ],
      [],
    ]
    const one = startReplay(at, calls, { onCheckpoint: asks })
    const asked = one.create()
    await expect.poll(() => at.questions('ses_1').length).toBe(1)
    // Another turn of the session is not held up.
    expect((await one.create()).choices[0]?.message.content).toBe('done')
    at.answer('ses_1', { decision: 'approve' })
    const answer = await asked
    expect(answer.choices[0]?.message.tool_calls?.map(({ id }) => id)).toEqual(['c0', 'c1'])
    await one.session.tools.find({})
    await one.session.tools.pay({ amount: 900 })
    expect(one.ran).toEqual(['find', { amount: 900 }])
    const proposals = at.requests.filter(({ name, body }) => name === 'propose' && body.redeems !== undefined)
    expect(proposals).toHaveLength(1)
    expect(JSON.stringify(proposals[0]?.body.response)).not.toContain('usage')
    expect(at.requests.find(({ name }) => name === 'createSession')?.body.asks).toBe('people')
  })

  proves('ask.reads', 'tells what a person refused, with their words, and asks no one about it again', async () => {
    const at = service()
    const one = startReplay(at, [[['c1', 'pay', { amount: 900 }]]], { onCheckpoint: askPeople({ waitSeconds: 60 }) })
    const asked = caught(one.create())
    await expect.poll(() => at.questions('ses_1').length).toBe(1)
    at.answer('ses_1', { decision: 'deny', note: 'Not this month' })
    const error = await asked
    expect(error).not.toBeInstanceOf(ReplayParkedError)
    expect(error).toMatchObject({ message: 'A person refused this call of pay: Not this month.' })
    expect((error as ReplayContractError).decision.blocked).toMatchObject([{ reason: 'checkpoint_denied' }])
    for (let again = 0; again < 3; again++) {
      expect(await caught(one.create())).toMatchObject({ message: expect.stringContaining('Not this month') })
    }
    expect(at.questions('ses_1')).toHaveLength(1)
    expect(at.state('ses_1').checkpointsTriggered).toBe(1)
  })

  proves('ask.edited', 'runs a call as a person changed it, and tells the model', async () => {
    const at = service()
    const one = startReplay(at, [[['c1', 'pay', { amount: 900 }]], []], {
      onCheckpoint: askPeople({ waitSeconds: 60 }),
    })
    const asked = one.create()
    await expect.poll(() => at.questions('ses_1').length).toBe(1)
    at.answer('ses_1', { decision: 'approve', arguments: { amount: 400 }, note: 'Half of it' })
    await asked
    expect(await one.session.tools.pay({ amount: 900 })).toBe('paid {"amount":400}')
    await one.create()
    expect(one.requests[1]?.messages[0]).toMatchObject({
      role: 'system',
      content: 'pay: A person changed amount from 900 to 400: Half of it. This is the result of the changed call.',
    })
  })

  proves('ask.kill', 'a kill ends the wait', async () => {
    const at = service()
    // The service does not hear of it.
    const fetch: typeof globalThis.fetch = (input, init) =>
      String(input).endsWith('/kill') ? Promise.reject(new Error('away')) : at.fetch(input, init)
    const onCheckpoint = askPeople({ waitSeconds: 600 })
    const one = startReplay(at, [[['c1', 'pay', { amount: 900 }]]], { fetch, onCheckpoint })
    const asked = caught(one.create())
    await expect.poll(() => at.questions('ses_1').length).toBe(1)
    one.session.kill()
    const later = new Promise((resolve) => setTimeout(() => resolve('it still waits'), 10_000).unref())
    expect(await Promise.race([asked, later])).toBeInstanceOf(ReplayKillError)
    expect(one.ran).toEqual([])
  })

  proves('ask.parks', 'through session.fetch a client finds the questions behind its error', async () => {
    const at = service()
    const one = startReplay(at, [[]])
    const answer = completion([['c1', 'pay', { amount: 900 }]])
    const governed = one.session.fetchThrough(async () => Response.json(answer))
    const client = new OpenAI({ apiKey: 'k', maxRetries: 0, fetch: governed })
    const definition = { type: 'function' as const, function: { name: 'pay' } }
    const error = await caught(
      client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'go' }], tools: [definition] }),
    )
    const questionId = at.questions('ses_1')[0]?.question_id
    expect((blockOf(error) as ReplayParkedError).questions).toMatchObject([{ questionId, tool: 'pay' }])
  })
})

describe('where no service decides', () => {
  proves('ask.needs-service', 'what asks people is blocked, and no callback stands in', async () => {
    const at = service()
    const asked: unknown[] = []
    const one = startReplay(at, [[['c1', 'pay', { amount: 900 }]]], {
      apiKey: '',
      onCheckpoint: (request) => {
        asked.push(request)
        return {
          checkpoint_id: request.checkpoint_id,
          decision: 'approve',
          decided_by: 'x',
          decided_at: new Date().toISOString(),
        }
      },
    })
    expect(await caught(one.create())).toMatchObject({
      message: expect.stringContaining('No person can be asked about pay; it did not run.'),
    })
    expect({ asked, isReported: one.types().includes('ask_needs_service') }).toEqual({ asked: [], isReported: true })
  })

  proves('ask.needs-service', 'nor does it where the service is away and onError allows', async () => {
    const at = service()
    let away = false
    const fetch: typeof globalThis.fetch = (input, init) =>
      away ? Promise.reject(new Error('away')) : at.fetch(input, init)
    const one = startReplay(at, [[['c0', 'find', {}]], [['c1', 'pay', { amount: 900 }]]], { fetch, onError: 'allow' })
    await one.create()
    await one.session.tools.find({})
    away = true
    expect(await caught(one.create())).toMatchObject({ message: expect.stringContaining('No person can be asked') })
    expect(one.types()).toContain('ask_needs_service')
  })
})

describe('a label or filter that is set while the model answers', () => {
  const big = { when: [{ path: '$.amount', gt: 200 }], reason: 'large payment', ask: {} }
  const tainted = { when: [{ label: 'tainted' }], reason: 'tainted', ask: {} }

  /** Opens a session with these rules of `pay`, whose turns are changed before the model's answer is judged. */
  function startWith(at: ReturnType<typeof service>, rules: Partial<Contract>) {
    const contracts = [{ tool: 'pay', side_effect: 'write' as const, ...rules }, find]
    const one = start(at, { contracts })
    const turn = async (id: string, args: object, change: (session: Session) => void = () => {}, texts = ['go']) => {
      const messages = texts.map((text) => ({ role: 'user' as const, text }))
      const prepared = await one.session.prepare({ model: 'm', tools: ['pay', 'find'], messages })
      change(one.session)
      const [verdict] = await prepared.propose({
        calls: [{ id, name: 'pay', arguments: args }],
        finishReason: 'tool_calls',
      })
      return verdict
    }
    const approve = async (args: object) => {
      expect(await turn('c1', args)).toMatchObject({ verdict: 'ask' })
      at.answer('ses_1', { decision: 'approve' })
    }
    return { ...one, turn, approve }
  }

  proves('ask.controls', 'blocks what it asks about, and the next turn asks', async () => {
    const at = service()
    const { session, ran, turn } = startWith(at, { checkpoint: tainted })
    const taint = () => session.addLabel('tainted')
    expect(await turn('c1', { amount: 1 }, taint)).toMatchObject({
      verdict: 'block',
      reason: 'checkpoint_denied',
      remedy: expect.stringContaining('pay needs a person, who has not been asked yet'),
    })
    await session.run('c1')
    expect(ran).toEqual([])
    expect(await turn('c2', { amount: 1 }, taint)).toMatchObject({ verdict: 'ask' })
    at.answer('ses_1', { decision: 'approve' })
    // The service knew the label when it asked.
    expect(await turn('c3', { amount: 1 }, taint)).toMatchObject({ verdict: 'allow' })
    await session.run('c3')
    expect(ran).toEqual([{ amount: 1 }])
    expect(at.count('addLabel')).toBe(1)
  })

  proves('ask.controls', 'blocks an approved call that it asks about by another rule', async () => {
    const at = service()
    const { turn, approve } = startWith(at, { checkpoint: [big, tainted] })
    await approve({ amount: 900 })
    const verdict = await turn('c2', { amount: 900 }, (session) => session.addLabel('tainted'))
    expect(verdict).toMatchObject({ verdict: 'block', reason: 'checkpoint_denied' })
    expect(await turn('c3', { amount: 900 })).toMatchObject({ verdict: 'ask' })
  })

  proves('ask.controls', 'blocks an approved call that it forbids', async () => {
    const changes: ((session: Session) => void)[] = [
      (session) => session.addLabel('tainted'),
      (session) => session.narrow(['find']),
    ]
    for (const change of changes) {
      const at = service()
      const { turn, approve } = startWith(at, { checkpoint: big, labels: { deny_when: ['tainted'] } })
      await approve({ amount: 900 })
      const verdict = await turn('c2', { amount: 900 }, change)
      expect(verdict).toMatchObject({ verdict: 'block', reason: 'forbidden_tool' })
      expect(JSON.stringify(verdict)).not.toContain('No person can be asked')
    }
  })

  proves('ask.controls', 'lets an approved call run that it says nothing about', async () => {
    const cases: [Contract['checkpoint'], (session: Session) => void][] = [
      [big, (session) => session.addLabel('tainted')],
      [[big, tainted], (session) => session.narrow(['pay'])],
    ]
    for (const [checkpoint, change] of cases) {
      const at = service()
      // Of an approved call the request is not judged again.
      const assertions = { input_invariants: [{ path: '$.messages', length_lte: 1 }] }
      const { turn, approve } = startWith(at, { checkpoint, assertions })
      await approve({ amount: 900 })
      expect(await turn('c2', { amount: 900 }, change, ['go', 'on'])).toMatchObject({ verdict: 'allow' })
    }
  })
})

describe('a question', () => {
  const ask = async (at: ReturnType<typeof service>, options = {}) => {
    const first = start(at, options)
    await first.turn('c1', { amount: 900 })
    return { ...first, id: at.questions('ses_1')[0]?.question_id ?? '' }
  }

  proves('ask.resume', 'that no one answers in time has expired, and the same call asks again', async () => {
    const at = service()
    const { session, id, turn, types } = await ask(at)
    at.advance(25 * 3_600_000)
    expect(await session.resume(id)).toMatchObject({
      ...{ ran: false, result: `${id} ended before its call ran; pay did not run.` },
    })
    expect(types()).toContain('question_ended')
    expect((await turn('c2', { amount: 900 })).verdict).toMatchObject({ verdict: 'ask' })
    expect(at.questions('ses_1')).toHaveLength(2)
  })

  proves('ask.withdraw', 'is withdrawn by the holder of the session', async () => {
    const at = service()
    const { session, id } = await ask(at)
    expect(await session.withdraw(id)).toMatchObject({ state: 'withdrawn', cause: 'holder' })
    expect(await session.withdraw(id).catch(({ code }) => code)).toBe('QUESTION_DECIDED')
    expect(await session.resume(id)).toMatchObject({
      ran: false,
      result: `Question ${id} was withdrawn; pay did not run.`,
    })
  })

  proves('ask.waits', 'is waited for, and the wait ends with its answer', async () => {
    const at = service()
    const { session } = await ask(at)
    const waiting = session.questions({ wait: 60 })
    await expect.poll(() => at.count('listSessionQuestions')).toBeGreaterThan(1)
    at.answer('ses_1', { decision: 'deny', note: 'no' })
    expect(await waiting).toMatchObject([{ state: 'denied', note: 'no' }])
    // Nothing waits any more.
    expect(await session.questions({ wait: 60 })).toHaveLength(1)
  })

  proves('ask.resume', 'is resumed once by two processes', async () => {
    const at = service()
    const { session, id, ran } = await ask(at)
    at.answer('ses_1', { decision: 'approve' })
    const results = await Promise.all([session.resume(id), session.resume(id)])
    expect(results.filter((one) => one.ran)).toHaveLength(1)
    expect(ran).toHaveLength(1)
    at.forgetHolder('ses_1')
    const other = start(at)
    expect(await other.session.resume(id)).toMatchObject({ ran: false })
    expect(other.ran).toEqual([])
  })

  proves('ask.lost-replies', 'keeps its answer when the reply to the proposal that uses it is lost', async () => {
    const at = service()
    const { session, id, ran } = await ask(at)
    at.answer('ses_1', { decision: 'approve' })
    at.loseReplies('propose', 1)
    expect(await session.resume(id)).toMatchObject({ ran: true })
    expect(ran).toHaveLength(1)
  })

  proves('ask.resume', 'is resumed again where the service could not say whether its call was free', async () => {
    const at = service()
    const { session, turn, ran } = start(at)
    await turn('c1', { amount: 900 })
    const id = at.questions('ses_1')[0]?.question_id ?? ''
    at.answer('ses_1', { decision: 'approve' })
    at.loseReplies('claimCall', 99)
    await expect(session.resume(id)).rejects.toThrow('could not say whether the call is free to run')
    expect(ran).toEqual([])
    at.loseReplies('claimCall', 0)
    expect(await session.resume(id)).toMatchObject({ ran: true })
    expect(await session.resume(id)).toMatchObject({ ran: false })
    expect(ran).toEqual([{ amount: 900 }])
  })

  proves('ask.resume', 'outlives a process that was killed between question and answer', async () => {
    const at = service()
    const { id } = await ask(at)
    open.pop()
    at.forgetHolder('ses_1')
    at.answer('ses_1', { decision: 'approve' })
    const second = start(at)
    expect(await second.session.resume(id)).toMatchObject({ ran: true })
  })

  proves('ask.diagnostics', 'that no one can answer is not asked', async () => {
    const at = service()
    at.setAnswerable(false)
    const one = start(at)
    const { verdict } = await one.turn('c1', { amount: 900 })
    expect(verdict).toMatchObject({ verdict: 'block', reason: 'checkpoint_denied' })
    expect(one.types()).toContain('question_unanswerable')
  })

  proves('ask.resume', 'is not judged again by what the request and the answer of its model were', async () => {
    const strict = {
      ...pay,
      assertions: {
        input_invariants: [{ path: '$.messages', length_gte: 1 }],
        output_invariants: [{ path: '$.finish_reason', equals: 'tool_calls' }],
      },
      response_format_invariants: { finish_reason: 'tool_calls' as const },
    }
    const at = service()
    const contracts = [strict, find]
    const { session, id } = await ask(at, { contracts })
    at.answer('ses_1', { decision: 'approve' })
    expect(await session.resume(id)).toMatchObject({ ran: true })
  })

  proves('ask.resume', 'is not resumed without an executor, and its answer stays', async () => {
    const at = service()
    await ask(at)
    at.answer('ses_1', { decision: 'approve' })
    at.forgetHolder('ses_1')
    const bare = openSession({
      ...{
        contracts: [pay, find],
        apiKey: 'k',
        runtimeUrl: 'http://service.test',
        fetch: at.fetch,
        sessionId: 'ses_1',
      },
      diagnostics: () => {},
    })
    open.push(bare)
    const id = at.questions('ses_1')[0]?.question_id ?? ''
    expect(await caught(bare.resume(id))).toMatchObject({ message: expect.stringContaining('no executor for pay') })
    expect(await caught(bare.resume('Q-UNKNOWN'))).toMatchObject({
      message: expect.stringContaining('has no question "Q-UNKNOWN"'),
    })
    expect(at.questions('ses_1')).toMatchObject([{ state: 'approved' }])
    expect(await bare.resume(id, { run: () => 'by hand' })).toMatchObject({ ran: true, result: 'by hand' })
  })
})
