import { expect } from 'vitest'
import { ReplayContractError, type ReplayOptions } from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { callNames, calls, results, says } from '../../support/runtime/agent.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

type OnCheckpoint = NonNullable<ReplayOptions['onCheckpoint']>

const contracts = [
  { tool: 'look', side_effect: 'read' as const },
  {
    tool: 'pay',
    side_effect: 'financial' as const,
    gate: 'allow' as const,
    checkpoint: { when: [{ path: '$.amount', gt: 200 }], reason: 'large payment' },
  },
]

const { agent, runtime } = await withAgentAndRuntime()

const decide =
  (decision: 'approve' | 'deny'): OnCheckpoint =>
  ({ checkpoint_id }) => ({ checkpoint_id, decision, decided_by: 'ann', decided_at: new Date().toISOString() })

function governed(onCheckpoint: OnCheckpoint, options: ReplayOptions = {}) {
  const paid: unknown[] = []
  const tools = { look: () => ({ found: true }), pay: (args: unknown) => paid.push(args) }
  const started = agent.start({ contracts, tools, apiKey: runtime.key, fetch: runtime.fetch, onCheckpoint, ...options })
  return { ...started, paid }
}

const onServer = async (sessionId: string) =>
  (await runtime.api().loadSession({ params: { session_id: sessionId }, query: { include: 'pending' } })).body

proves(
  ['state.checkpoint.approve', 'checkpoint.client-callback'],
  'an approval travels with the receipt, and the server commits the step by it',
  async () => {
    const { session, ask, paid } = governed(decide('approve'))
    agent.provider.enqueue(calls(['pay', { amount: 300 }, 'p1']))
    await ask(['pay'])
    expect((await onServer(session.sessionId)).pending).toMatchObject([{ call_id: 'p1', tool_name: 'pay' }])
    await session.tools?.pay?.({ amount: 300 }, { callId: 'p1' })
    expect(paid).toEqual([{ amount: 300 }])
    const { session: view, pending } = await onServer(session.sessionId)
    expect(pending).toEqual([])
    expect(view.state).toMatchObject({ stateVersion: 1, totalToolCalls: 1 })
    expect(session.getState().stateVersion).toBe(1)
  },
)

proves(
  ['approval-response.decided-by', 'approval-response.decided-at'],
  'the receipt on the server says who decided and when, as the answer did',
  async () => {
    const answers: ['approve' | 'deny', string, string][] = [
      ['approve', 'ann@example.test', '2026-02-03T04:05:06.789Z'],
      ['deny', 'bob@example.test', '2026-03-04T05:06:07.000Z'],
    ]
    for (const [decision, decided_by, decided_at] of answers) {
      const { session, ask } = governed(({ checkpoint_id }) => ({ checkpoint_id, decision, decided_by, decided_at }))
      agent.provider.enqueue(calls(['pay', { amount: 300 }, 'p1']))
      await ask(['pay']).catch(() => {})
      if (decision === 'approve') await session.tools?.pay?.({ amount: 300 }, { callId: 'p1' })
      await session.flush()
      const [row] = await runtime.sql<{ record: { approvals: unknown } }[]>`
        select record::json as record from receipts where session_id = ${session.sessionId}`
      expect(row?.record.approvals).toMatchObject([{ decision, decided_by, decided_at }])
    }
  },
)

interface Question {
  readonly checkpoint_id: string
  readonly argument_hash: string
}

/** What comes with the receipt in place of the approval, from the question at hand and one that was answered before. */
const NO_APPROVALS: readonly [string, (own: Question, earlier: Question) => readonly object[]][] = [
  ['without the approval', () => []],
  ['with an approval of other arguments', (own) => [{ ...own, decision: 'approve', argument_hash: 'b'.repeat(64) }]],
  ['with the approval of an earlier call', (_, earlier) => [{ ...earlier, decision: 'approve' }]],
  [
    'with the answer to an earlier question for these arguments',
    (own, earlier) => [{ ...own, decision: 'approve', checkpoint_id: earlier.checkpoint_id }],
  ],
  ['with a denial', (own) => [{ ...own, decision: 'deny' }]],
  ['with nobody having answered in time', (own) => [{ ...own, decision: 'timeout' }]],
]

for (const [what, approvalsOf] of NO_APPROVALS) {
  proves(
    ['guarantee.approval-bound', 'state.checkpoint.approve'],
    `${what} the same receipt resolves the call and commits nothing`,
    async () => {
      const asked: string[] = []
      const { session, ask } = governed((request) => {
        asked.push(request.checkpoint_id)
        return decide('approve')(request)
      })
      agent.provider.enqueue(calls(['pay', { amount: 300 }, 'p1']), calls(['pay', { amount: 301 }, 'p2']))
      const first = await ask(['pay'])
      const [{ argument_hash: earlierHash } = missing()] = (await onServer(session.sessionId)).pending ?? []
      await session.tools?.pay?.({ amount: 300 }, { callId: 'p1' })
      await ask(['pay'], results(first))
      const { pending: [call = missing()] = [], session: before } = await onServer(session.sessionId)
      const { pending_call_id, argument_hash } = call
      const [earlier = '', own = ''] = asked
      const at = new Date().toISOString()
      const { status, body } = await runtime.api().submitReceipts({
        params: { session_id: session.sessionId },
        body: {
          fence: before.fence,
          receipts: [
            {
              pending_call_id,
              argument_hash,
              outcome: 'succeeded',
              evidence_level: 'executed',
              result_hash: 'a'.repeat(64),
              started_at: at,
              finished_at: at,
              approvals: approvalsOf(
                { checkpoint_id: own, argument_hash },
                { checkpoint_id: earlier, argument_hash: earlierHash },
              ) as never,
            },
          ],
        },
      })
      expect(status).toBe(200)
      expect([before.state_version, body.state_version]).toEqual([1, 1])
      expect((await onServer(session.sessionId)).pending).toEqual([])
    },
  )
}

function missing(): never {
  throw new Error('nothing is pending')
}

proves(
  ['state.checkpoint.deny', 'block.checkpoint-denied'],
  'a denial leaves nothing pending on the server, and the session goes on',
  async () => {
    const { session, ask, paid } = governed(decide('deny'))
    agent.provider.enqueue(calls(['look', {}], ['pay', { amount: 300 }, 'p1']), calls(['look', {}, 'l2']), says('done'))
    const denied = await ask(['look', 'pay']).catch((error: unknown) => error)
    expect(denied).toBeInstanceOf(ReplayContractError)
    expect(denied).toMatchObject({ decision: { blocked: [{ call_id: 'p1', reason: 'checkpoint_denied' }] } })
    const { session: view, pending } = await onServer(session.sessionId)
    expect(pending).toEqual([])
    expect(view.state).toMatchObject({ stateVersion: 0, totalToolCalls: 0 })
    await expect(session.tools?.pay?.({ amount: 300 })).rejects.toThrow(ReplayContractError)
    expect(paid).toEqual([])
    const next = await ask(['look', 'pay'])
    expect(callNames(next)).toEqual(['look'])
    await session.tools?.look?.({})
    await ask(['look', 'pay'], results(next))
    expect((await onServer(session.sessionId)).session.state_version).toBe(1)
  },
)

proves('state.checkpoint.deny', 'under a strip gate the other call of the same answer runs', async () => {
  const { session, ask, paid } = governed(decide('deny'), { gate: 'strip_blocked' })
  agent.provider.enqueue(calls(['look', {}], ['pay', { amount: 300 }]))
  expect(callNames(await ask(['look', 'pay']))).toEqual(['look'])
  await session.tools?.look?.({})
  expect(paid).toEqual([])
  const { session: view, pending } = await onServer(session.sessionId)
  expect(pending).toEqual([])
  expect(view.state).toMatchObject({ stateVersion: 1, toolCallCounts: { look: 1 } })
})

proves(
  ['state.checkpoint.budget', 'block.checkpoint-budget-exceeded'],
  'the server counts the questions, and blocks the eleventh call unasked',
  async () => {
    let asked = 0
    const { session, ask } = governed((request) => {
      asked++
      return decide('approve')(request)
    })
    let messages = undefined as ReturnType<typeof results> | undefined
    for (let turn = 0; turn < 10; turn++) {
      agent.provider.enqueue(calls(['pay', { amount: 300 + turn }]))
      messages = results(await ask(['pay'], messages))
      await session.tools?.pay?.({ amount: 300 + turn })
    }
    agent.provider.enqueue(calls(['pay', { amount: 400 }]))
    await expect(ask(['pay'], messages)).rejects.toThrow('checkpoint_budget_exceeded')
    expect(asked).toBe(10)
    expect((await onServer(session.sessionId)).session.state).toMatchObject({ stateVersion: 10, totalBlockCount: 1 })
  },
)

proves(
  ['state.checkpoint.either-side', 'state.checkpoint.after-validation'],
  'a server that finds no checkpoint where the client does cannot keep a person from being asked',
  async () => {
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const response = await runtime.fetch(input, init)
      if (!String(input).endsWith('/proposals')) return response
      const body = (await response.json()) as { decisions: object[] }
      const decisions = body.decisions.map((one) => ({ ...one, checkpoint_required: false, checkpoints: [] }))
      return Response.json({ ...body, decisions }, { status: response.status })
    }
    const asked: string[] = []
    const { session, ask } = governed(
      (request) => {
        asked.push(request.reason)
        return decide('deny')(request)
      },
      { fetch },
    )
    agent.provider.enqueue(calls(['pay', { amount: 300 }, 'p1']))
    await expect(ask(['pay'])).rejects.toThrow('checkpoint_denied')
    expect(asked).toEqual(['large payment'])
    await session.flush()
    const { session: view } = await onServer(session.sessionId)
    expect(view.state).toMatchObject({ totalBlockCount: 1, totalToolCalls: 0 })
  },
)
