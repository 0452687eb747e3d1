import { afterEach, describe, expect, test, vi } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import type { ReplayOptions, ToolMap } from '../options/replay-options.js'
import { openSession } from './open-session.js'
import type { Session } from './session.js'

const find = { tool: 'find', side_effect: 'read' as const }
const pay = {
  tool: 'pay',
  side_effect: 'write' as const,
  argument_value_invariants: [{ path: '$.amount', lte: 500 }],
  checkpoint: { when: [{ path: '$.amount', gt: 200 }], reason: 'large payment', timeout_seconds: 120 },
}
const wipe = { tool: 'wipe', side_effect: 'destructive' as const, preconditions: [{ requires_prior_tool: 'find' }] }

const open: Session[] = []
afterEach(async () => {
  vi.useRealTimers()
  await Promise.all(open.splice(0).map((session) => session.close()))
})

function start({ tools: given, ...options }: Omit<ReplayOptions, 'tools'> & { tools?: null } = {}) {
  const ran: string[] = []
  const tools: ToolMap = {
    find: async () => ran.push('find') && { order: 7 },
    pay: async ({ amount }: { amount: number }) => ran.push(`pay ${amount}`) && 'paid',
    wipe: async () => ran.push('wipe'),
  }
  const all = { contracts: [find, pay, wipe], diagnostics: () => {}, ...options }
  const session: Session = openSession(given === null ? all : { ...all, tools })
  open.push(session)
  const prepare = (more: object = {}) =>
    session.prepare({ model: 'm', tools: ['find', 'pay', 'wipe'], messages: [{ role: 'user', text: 'go' }], ...more })
  return { session, ran, prepare }
}

const call = (id: string, name: string, args: object = {}) => ({ id, name, arguments: args })
const ann = { decision: 'approve' as const, decided_by: 'ann' }

proves('option.api-key.missing-reported', 'a session for a framework says that it is without a server', () => {
  const reported: unknown[] = []
  const diagnostics = (item: object) => reported.push(item)
  start({ tools: null, agent: 'desk', diagnostics })
  expect(reported).toMatchObject([
    { type: 'replay_protection_level', detail: expect.stringContaining('COUNTERSIGN_API_KEY') },
  ])
  start({ tools: null, agent: 'desk', diagnostics, requireProtection: 'protect' })
  expect(reported).toHaveLength(1)
})

describe('a turn of a session without a client', () => {
  proves(
    ['open-session.narrows', 'open-session.judges'],
    'offers what is allowed, judges the whole answer and runs what it allows',
    async () => {
      const { session, ran, prepare } = start()
      const turn = await prepare()
      expect(turn.allowed).toEqual(['find', 'pay'])
      expect(turn.removed).toMatchObject([{ tool: 'wipe', reason: 'precondition_not_met' }])
      expect(turn).toMatchObject({ feedback: null, refusal: null })
      const verdicts = await turn.propose({
        calls: [call('a', 'find'), call('b', 'pay', { amount: 900 }), call('c', 'pay', { amount: 50 })],
      })
      expect(verdicts.map(({ callId, verdict }) => [callId, verdict])).toEqual([
        ['a', 'allow'],
        ['b', 'block'],
        ['c', 'allow'],
      ])
      expect(session.verdictOf('b')).toMatchObject({ verdict: 'block', reason: 'argument_value_mismatch' })
      expect(await session.run('a')).toEqual({ order: 7 })
      expect(await session.run('c')).toBe('paid')
      expect(ran).toEqual(['find', 'pay 50'])
      expect((await prepare()).allowed).toEqual(['find', 'pay', 'wipe'])
    },
  )

  proves(
    'open-session.blocked-run-gives-remedy',
    'running a blocked call gives its remedy and runs nothing',
    async () => {
      const { session, ran, prepare } = start()
      await (await prepare()).propose({ calls: [call('b', 'pay', { amount: 900 })] })
      expect(await session.run('b')).toMatch(/^"pay" was blocked \(argument_value_mismatch\)/)
      expect(await session.invoke({ callId: 'b' })).toMatchObject({
        ran: false,
        error: { name: 'ReplayContractError' },
      })
      expect(ran).toEqual([])
    },
  )

  proves(
    'open-session.hidden-tool-blocked',
    'a tool that was not offered is blocked when the model names it',
    async () => {
      const { session, ran, prepare } = start()
      const verdicts = await (await prepare()).propose({ calls: [call('x', 'wipe'), call('y', 'unheard_of')] })
      expect(verdicts.map(({ verdict }) => verdict)).toEqual(['block', 'block'])
      expect(await session.run('x')).toContain('was blocked')
      expect(await session.run('y')).toContain('was blocked')
      // Nothing but the request stands against this one.
      const [unasked] = await (await prepare({ tools: ['find'] })).propose({
        calls: [call('z', 'pay', { amount: 50 })],
      })
      expect(unasked).toMatchObject({ verdict: 'block', decision: { reasons: [{ detail: 'not_offered' }] } })
      expect(await session.run('z')).toContain('was blocked')
      expect(ran).toEqual([])
    },
  )

  proves(
    'open-session.runs-once',
    'a call runs at most once, and only with the arguments that were judged',
    async () => {
      const { session, ran, prepare } = start()
      await (await prepare()).propose({ calls: [call('c', 'pay', { amount: 50 }), call('d', 'pay', { amount: 60 })] })
      expect(await session.invoke({ callId: 'd', args: { amount: 61 } })).toMatchObject({ ran: false })
      await Promise.all([session.run('c'), session.run('c')])
      expect(await session.invoke({ callId: 'c' })).toMatchObject({ ran: false })
      expect(ran).toEqual(['pay 50'])
    },
  )

  proves('open-session.retry-is-one-turn', 'of turns that never ended only the latest are remembered', async () => {
    const session = openSession({ contracts: [], diagnostics: () => {} })
    const begin = (key: object) => session.prepare({ model: 'gpt-4o', key })
    const keys = Array.from({ length: 200 }, () => ({}))
    const turns = await Promise.all(keys.map(begin))
    expect(await begin(keys[199]!)).toBe(turns[199])
    expect(await begin(keys[0]!)).not.toBe(turns[0])
    // The first turn of a key ends only itself, not the one that was begun after it was forgotten.
    const second = await begin(keys[1]!)
    await turns[1]!.abandon()
    expect(await begin(keys[1]!)).toBe(second)
    await session.close()
  })

  proves('open-session.retry-is-one-turn', 'requests with one key are one turn until it was proposed', async () => {
    const { prepare } = start()
    const key = {}
    const turn = await prepare({ key })
    expect(await prepare({ key })).toBe(turn)
    const answer = { calls: [call('a', 'find')] }
    const [first, again] = await Promise.all([turn.propose(answer), turn.propose(answer)])
    expect(again).toBe(first)
    await expect(turn.propose({ calls: [call('b', 'find')] })).rejects.toThrow('this turn has ended')
  })

  test('a turn that was given up makes way for the next one', async () => {
    const { prepare } = start()
    const turn = await prepare()
    await turn.abandon(new Error('503'))
    await turn.abandon()
    expect((await prepare()).allowed).toContain('find')
    await expect(turn.propose({ calls: [] })).rejects.toThrow('this turn has ended')
  })

  test('where the model must not be asked, the turn says what to answer instead', async () => {
    const { prepare } = start({ providerConstraints: { block_incompatible: ['bad/*'] } })
    await expect(prepare({ provider: 'bad' })).rejects.toThrow(/bad/)
  })

  test('feedback about removed tools is there for the model, where it is wanted', async () => {
    const { prepare } = start({ narrowingFeedback: 'inject' })
    expect((await prepare()).feedback).toContain('wipe')
  })
})

describe('a person who is asked later', () => {
  proves('open-session.asks', 'an ask verdict carries what to ask, and the answer lets the call run', async () => {
    const { session, ran, prepare } = start()
    const [verdict] = await (await prepare()).propose({ calls: [call('p', 'pay', { amount: 300 })] })
    if (verdict?.verdict !== 'ask') throw new Error('nobody was asked')
    expect(verdict.questions).toMatchObject([{ tool_name: 'pay', arguments: { amount: 300 }, reason: 'large payment' }])
    expect(await session.run('p')).toContain('is not approved yet')
    expect(ran).toEqual([])
    expect(await session.answer(verdict.id, ann)).toMatchObject({ verdict: 'allow' })
    expect(await session.run('p')).toBe('paid')
    await expect(session.answer(verdict.id, ann)).rejects.toThrow('waits for an answer')
  })

  for (const [given, afterMs, reason] of [
    [{ decision: 'deny' as const, decided_by: 'ann', reason: 'too much' }, 0, 'checkpoint_denied'],
    [ann, 121_000, 'checkpoint_timeout'],
  ] as const) {
    proves('open-session.asks', `a denial and a late approval block the call: ${reason}`, async () => {
      vi.useFakeTimers({ toFake: ['Date'] })
      const { session, ran, prepare } = start()
      const [verdict] = await (await prepare()).propose({ calls: [call('p', 'pay', { amount: 300 })] })
      if (verdict?.verdict !== 'ask') throw new Error('nobody was asked')
      vi.setSystemTime(Date.now() + afterMs)
      expect(await session.answer(verdict.id, given)).toMatchObject({ verdict: 'block', reason })
      expect(await session.run('p')).toContain(reason)
      expect(ran).toEqual([])
    })
  }

  test('a question that the conversation left behind can no longer be answered', async () => {
    const { session, prepare } = start()
    const [verdict] = await (await prepare()).propose({ calls: [call('p', 'pay', { amount: 300 })] })
    await prepare()
    if (verdict?.verdict !== 'ask') throw new Error('nobody was asked')
    await expect(session.answer(verdict.id, ann)).rejects.toThrow('waits for an answer')
  })

  test('onCheckpoint is asked at once where it is given', async () => {
    const onCheckpoint: ReplayOptions['onCheckpoint'] = ({ checkpoint_id }) => ({
      ...ann,
      checkpoint_id,
      decided_at: new Date().toISOString(),
    })
    const { session, prepare } = start({ onCheckpoint })
    const verdicts = await (await prepare()).propose({ calls: [call('p', 'pay', { amount: 300 })] })
    expect(verdicts).toMatchObject([{ verdict: 'allow' }])
    expect(await session.run('p')).toBe('paid')
  })

  test.each([[{}], [{ decision: 'APPROVE', decided_by: 'ann' }], [{ decision: 'approve', decided_by: '' }], [null]])(
    'an answer such as %o is none',
    async (given) => {
      const { session } = start()
      await expect(session.answer('pnd_1', given as never)).rejects.toThrow('session.answer takes')
    },
  )
})

describe('a program that runs its tools itself', () => {
  proves('open-session.settle', 'settle reports the outcome, and what the contract reads of the result', async () => {
    const gate = { tool: 'wipe', side_effect: 'destructive' as const, preconditions: [{ requires_prior_tool: 'find' }] }
    const { session, prepare } = start({ contracts: [find, gate], tools: null })
    await (await prepare()).propose({ calls: [call('a', 'find')] })
    await session.settle('a', { outcome: 'succeeded', result: { order: 7 } })
    expect((await prepare()).allowed).toContain('wipe')
    await expect(session.settle('a', { outcome: 'succeeded' })).rejects.toThrow('cannot be settled')
    await expect(session.settle('nobody', { outcome: 'succeeded' })).rejects.toThrow('no call "nobody" is known')
    await expect(session.settle('a', { outcome: 'done' as never })).rejects.toThrow('takes an outcome')
  })

  test('a tool that only a wrapper can check needs one before it is offered', async () => {
    const guarded = { ...find, execution_constraints: { arguments: [{ path: '$.q', exists: true }] } }
    const { session, prepare } = start({ contracts: [guarded], tools: null })
    await expect(prepare()).rejects.toMatchObject({ condition: 'constraints_without_wrapper' })
    session.addTools({ find: async () => 'found' })
    expect((await prepare()).allowed).toEqual(['find'])
  })
})

describe('other modes', () => {
  test.each(['shadow', 'log-only'] as const)('in %s every call may run', async (mode) => {
    const { session, ran, prepare } = start({ mode })
    const turn = await prepare()
    expect(turn.allowed).toEqual(['find', 'pay', 'wipe'])
    expect(turn.removed).toEqual([])
    const verdicts = await turn.propose({ calls: [call('b', 'pay', { amount: 900 })] })
    expect(verdicts).toMatchObject([{ verdict: 'allow', toolName: 'pay' }])
    expect(await session.run('b')).toBe('paid')
    expect(ran).toEqual(['pay 900'])
  })

  test('a killed session prepares nothing and runs nothing that it allowed before', async () => {
    const { session, ran, prepare } = start()
    await (await prepare()).propose({ calls: [call('c', 'pay', { amount: 50 })] })
    session.kill()
    expect(await session.run('c')).toContain('killed')
    await expect(prepare()).rejects.toMatchObject({ name: 'ReplayKillError' })
    expect(ran).toEqual([])
  })
})
