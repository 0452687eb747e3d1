import { afterAll, afterEach, beforeAll, expect, vi } from 'vitest'
import { ReplayContractError, type ReplayOptions } from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { type Agent, callNames, calls, results, startAgent } from '../../support/runtime/agent.js'

type OnCheckpoint = NonNullable<ReplayOptions['onCheckpoint']>
type Request = Parameters<OnCheckpoint>[0]

const look = { tool: 'look', side_effect: 'read' as const }
const pay = {
  tool: 'pay',
  side_effect: 'write' as const,
  argument_value_invariants: [{ path: '$.amount', lte: 500 }],
  checkpoint: {
    when: [{ path: '$.amount', gt: 200 }],
    reason: 'large payment',
    timeout_seconds: 120,
    context: [{ label: 'how much', path: '$.amount' }],
  },
}
const approve: OnCheckpoint = ({ checkpoint_id }) => answer(checkpoint_id)
const answer = (checkpoint_id: string, change: object = {}) => ({
  checkpoint_id,
  decision: 'approve' as const,
  decided_by: 'ann',
  decided_at: new Date().toISOString(),
  ...change,
})

let agent: Agent
beforeAll(async () => {
  agent = await startAgent()
})
afterAll(() => agent.close())
afterEach(() => {
  vi.useRealTimers()
})

async function askTo(onCheckpoint: OnCheckpoint, options: ReplayOptions = {}) {
  const started = agent.start({ contracts: [look, pay], onCheckpoint, ...options })
  agent.provider.enqueue(calls(['pay', { amount: 300 }]))
  const done = await started.ask(['look', 'pay']).catch((error: Error) => error)
  return { ...started, done, names: done instanceof Error ? null : callNames(done) }
}

proves(
  [
    'state.checkpoint.approve',
    'option.on-checkpoint',
    'checkpoint.client-callback',
    'contract.checkpoints',
    'approval-request.checkpoint-id',
    'approval-request.session-id',
    'approval-request.tool-name',
    'approval-request.arguments',
    'approval-request.context',
    'approval-request.reason',
    'approval-request.timeout-seconds',
    'approval-request.requested-at',
  ],
  'a person is asked with all that is known about the call, and an approval lets it go on',
  async () => {
    const asked: Request[] = []
    const { session, names, diagnostics } = await askTo((request) => {
      asked.push(request)
      return approve(request)
    })
    expect(names).toEqual(['pay'])
    expect(asked).toEqual([
      {
        checkpoint_id: expect.any(String),
        session_id: session.sessionId,
        tool_name: 'pay',
        arguments: { amount: 300 },
        context: [{ label: 'how much', value: 300 }],
        reason: 'large payment',
        timeout_seconds: 120,
        requested_at: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    ])
    expect(diagnostics.map(({ type }) => type)).toEqual(['checkpoint_requested', 'checkpoint_resolved'])
  },
)

proves(['state.checkpoint.deny', 'block.checkpoint-denied', 'approval-response.reason'], async () => {
  for (const reason of [undefined, 'not today']) {
    const { session, done } = await askTo(({ checkpoint_id }) =>
      answer(checkpoint_id, { decision: 'deny', ...(reason !== undefined && { reason }) }),
    )
    expect(done).toMatchObject({
      name: 'ReplayContractError',
      decision: { blocked: [{ tool_name: 'pay', reason: 'checkpoint_denied' }] },
    })
    if (reason !== undefined) expect((done as Error).message).toContain(reason)
    expect(session.getState()).toMatchObject({ stateVersion: 0, totalToolCalls: 0 })
  }
})

proves(
  [
    'approval-response.checkpoint-id',
    'approval-response.decision',
    'approval-response.decided-by',
    'approval-response.decided-at',
  ],
  'only a whole approval of this checkpoint approves',
  async () => {
    const useless: OnCheckpoint[] = [
      () => answer('another'),
      ({ checkpoint_id }) => answer(checkpoint_id, { decision: 'APPROVE' }),
      ({ checkpoint_id }) => answer(checkpoint_id, { decision: true }),
      ({ checkpoint_id }) => answer(checkpoint_id, { decided_by: '' }),
      ({ checkpoint_id }) => answer(checkpoint_id, { decided_by: undefined }),
      ({ checkpoint_id }) => answer(checkpoint_id, { decided_at: undefined }),
      ({ checkpoint_id }) => answer(checkpoint_id, { decided_at: 'yesterday' }),
      () => undefined as never,
      () => {
        throw new Error('the approver is away')
      },
      () => Promise.reject(new Error('the approver is away')),
    ]
    for (const onCheckpoint of useless) {
      const { done } = await askTo(onCheckpoint)
      expect(done).toMatchObject({ decision: { blocked: [{ reason: 'checkpoint_denied' }] } })
    }
  },
)

proves(
  ['state.checkpoint.timeout', 'state.checkpoint.on-timeout-default', 'block.checkpoint-timeout'],
  'no answer in time blocks, and a late approval is not heard',
  async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    let approveLate = (): void => {}
    const { done, session } = await askTo((request) => {
      queueMicrotask(() => void vi.advanceTimersByTimeAsync(120_001))
      return new Promise((resolve) => {
        approveLate = () => resolve(approve(request))
      })
    })
    expect(done).toMatchObject({ decision: { blocked: [{ reason: 'checkpoint_timeout' }] } })
    approveLate()
    expect(session.getState()).toMatchObject({ stateVersion: 0, totalToolCalls: 0 })
  },
)

proves(['state.checkpoint.timeout-minimum', 'limit.checkpoint-timeout'], async () => {
  const seen: number[] = []
  const short = { ...pay, checkpoint: { reason: 'short', timeout_seconds: 1 } }
  const long = { ...pay, checkpoint: { reason: 'long', timeout_seconds: 99_999 } }
  for (const contracts of [short, long]) {
    await askTo(
      (request) => {
        seen.push(request.timeout_seconds)
        return approve(request)
      },
      { contracts },
    )
  }
  expect(seen).toEqual([30, 3_600])
})

proves('state.checkpoint.timeout', 'on_timeout allow lets the call go on when nobody answers', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const contracts = { ...pay, checkpoint: { reason: 'quick', timeout_seconds: 30, on_timeout: 'allow' as const } }
  const never: OnCheckpoint = () => {
    queueMicrotask(() => void vi.advanceTimersByTimeAsync(30_001))
    return new Promise(() => {})
  }
  expect((await askTo(never, { contracts })).names).toEqual(['pay'])
})

proves(
  'state.checkpoint.after-validation',
  'nobody is asked about a call that is blocked anyway, or below the condition',
  async () => {
    const asked: Request[] = []
    const { ask } = agent.start({
      contracts: [look, pay],
      onCheckpoint: (request) => {
        asked.push(request)
        return approve(request)
      },
    })
    agent.provider.enqueue(calls(['pay', { amount: 501 }]), calls(['pay', { amount: 200 }]))
    await expect(ask(['pay'])).rejects.toThrow('argument_value_mismatch')
    expect(callNames(await ask(['pay']))).toEqual(['pay'])
    expect(asked).toEqual([])
  },
)

proves('state.checkpoint.deny', 'a strip gate drops the denied call alone', async () => {
  const { ask } = agent.start({
    contracts: [look, pay],
    gate: 'strip_blocked',
    onCheckpoint: ({ checkpoint_id }) => answer(checkpoint_id, { decision: 'deny' }),
  })
  agent.provider.enqueue(calls(['look'], ['pay', { amount: 300 }]))
  expect(callNames(await ask(['look', 'pay']))).toEqual(['look'])
})

proves(
  ['state.checkpoint.budget', 'limit.checkpoint-triggers', 'block.checkpoint-budget-exceeded'],
  'ten checkpoints are asked in a session; the eleventh call is blocked unasked',
  async () => {
    let asked = 0
    const { ask } = agent.start({
      contracts: [pay],
      onCheckpoint: (request) => {
        asked++
        return approve(request)
      },
    })
    let messages = undefined as ReturnType<typeof results> | undefined
    for (let turn = 0; turn < 10; turn++) {
      agent.provider.enqueue(calls(['pay', { amount: 300 + turn }]))
      messages = results(await ask(['pay'], messages))
    }
    agent.provider.enqueue(calls(['pay', { amount: 400 }]))
    await expect(ask(['pay'], messages)).rejects.toThrow('checkpoint_budget_exceeded')
    expect(asked).toBe(10)
  },
)

proves('approval-response.unknown-fields', 'what an approval has beyond its fields is ignored', async () => {
  const { names, diagnostics } = await askTo(({ checkpoint_id }) =>
    answer(checkpoint_id, { channel: 'chat', ticket: 7 }),
  )
  expect(names).toEqual(['pay'])
  expect(diagnostics.filter(({ type }) => type === 'callback_error')).toEqual([])
})

proves('approval-response.malformed', 'a malformed approval denies, and the developer hears which field', async () => {
  const { done, diagnostics } = await askTo(({ checkpoint_id }) => answer(checkpoint_id, { decided_at: 'noon' }))
  expect(String(done)).toContain('checkpoint_denied')
  expect(diagnostics).toContainEqual(
    expect.objectContaining({ callback: 'onCheckpoint', detail: expect.stringContaining('decided_at') }),
  )
})

proves(
  'checkpoint.words',
  'the model reads that a person refused only where one did, and nothing about the program',
  async () => {
    const remedyOf = (done: unknown) => (done instanceof ReplayContractError ? done.decision.blocked[0]?.remedy : null)
    const notApproved =
      'This call of "pay" needs the approval of a person, and is not approved yet. ' +
      'Do not repeat it; say that a person has to approve it.'
    const unusable: Record<string, OnCheckpoint> = {
      'decided_at: Invalid input': ({ checkpoint_id }) => answer(checkpoint_id, { decided_at: new Date() }),
      'it answered the checkpoint another': () => answer('another'),
      'the approver is away': () => Promise.reject(new Error('the approver is away')),
    }
    for (const [detail, onCheckpoint] of Object.entries(unusable)) {
      const { done, diagnostics } = await askTo(onCheckpoint)
      expect(remedyOf(done)).toBe(notApproved)
      expect(String(done)).not.toContain(detail)
      const failed = { type: 'callback_error', detail: expect.stringMatching(`${detail}.*; the call was denied`) }
      expect(diagnostics.map(({ type }) => type)).toEqual([
        'checkpoint_requested',
        'callback_error',
        'checkpoint_resolved',
      ])
      expect(diagnostics[1]).toMatchObject(failed)
    }
    const denied = await askTo(({ checkpoint_id }) => answer(checkpoint_id, { decision: 'deny', reason: 'not today' }))
    expect(remedyOf(denied.done)).toMatch(/^A person refused this call of "pay": not today\./)
  },
)
