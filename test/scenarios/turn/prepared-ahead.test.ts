import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { ReplayKillError, type ReplayOptions, ReplayUnavailableError } from '../../../packages/sdk/src/index.js'
import { checkSession } from '../../support/model/session-checker.js'
import { proves } from '../../support/proves.js'
import { callNames, calls, results, type Started, says } from '../../support/runtime/agent.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

const { agent, runtime, api } = await withAgentAndRuntime()

const contracts: NonNullable<ReplayOptions['contracts']> = [
  { tool: 'look', side_effect: 'read' },
  { tool: 'send', side_effect: 'write', labels: { deny_when: ['untrusted'] } },
]
const TOOLS = ['look', 'send']

interface Counted extends Started {
  /** What was sent since this was last asked, in order. */
  sent(): string[]
  /** Between two turns: what becomes of the answers of the server. */
  answering: (path: string, answer: Response) => Promise<Response>
  ran: string[]
}

/** A program that counts what it sends to the server. */
function begin(options: ReplayOptions = {}): Counted {
  let sent: string[] = []
  const ran: string[] = []
  const counted = { answering: async (_path: string, answer: Response) => answer }
  const counting: typeof fetch = async (...asked) => {
    const [input, init] = asked
    const path = new URL(input instanceof Request ? input.url : input).pathname.replace(/.*\//, '')
    if ((input instanceof Request ? input.method : init?.method) === 'POST') sent.push(path)
    return counted.answering(path, await runtime.fetch(...asked))
  }
  const tools = { look: () => ran.push('look'), send: () => ran.push('send') }
  const started = agent.start({ contracts, tools, apiKey: runtime.key, fetch: counting, ...options })
  return Object.assign(counted, started, {
    ran,
    sent: () => {
      const now = sent
      sent = []
      return now
    },
  })
}

/** A turn that looks: the model, and its tool. */
async function look({ session, ask }: Counted, tools: readonly string[] = TOOLS) {
  agent.provider.enqueue(calls(['look', {}]))
  const answer = await ask(tools)
  const [call] = answer.choices[0]?.message.tool_calls ?? []
  await session.tools?.look?.({}, { callId: call?.id ?? '' })
  return answer
}

/** Turns until one was prepared with the receipts of the one before: of a plan that is new to it a server takes more time. */
async function underWay(options: ReplayOptions = {}): Promise<Counted> {
  const program = begin(options)
  await expect
    .poll(
      async () => {
        program.sent()
        await look(program)
        return program.sent()
      },
      { timeout: 10_000, interval: 1 },
    )
    .toEqual(['proposals', 'receipts'])
  return program
}

const ledgerOf = async ({ session: { sessionId } }: Counted) => {
  const exported = await exportOf(api, sessionId)
  expect(await checkSession(runtime.sql, sessionId, exported)).toEqual([])
  return exported.events.map(({ type }) => type)
}

proves(
  'turn.next.no-preflight',
  'turns with the same tools send a proposal and receipts, and nothing else',
  async () => {
    const program = await underWay()
    for (let turn = 0; turn < 3; turn++) await look(program)
    expect(program.sent()).toEqual(['proposals', 'receipts', 'proposals', 'receipts', 'proposals', 'receipts'])
    agent.provider.enqueue(says('done'))
    await program.ask(TOOLS)
    expect(program.sent()).toEqual(['proposals'])
    // It was used: the next turn needs one of its own.
    agent.provider.enqueue(says('done'))
    await program.ask(TOOLS)
    expect(program.sent()).toEqual(['preflight', 'proposals'])
    expect((await ledgerOf(program)).slice(-4)).toEqual(['proposal', 'receipts', 'proposal', 'proposal'])
  },
)

proves('turn.next.no-preflight', 'a program that runs its tools itself saves the request, too', async () => {
  const program = begin({ tools: {} })
  await expect
    .poll(async () => {
      agent.provider.enqueue(calls(['look', {}]))
      const first = await program.ask(TOOLS)
      program.sent()
      agent.provider.enqueue(says('done'))
      await program.ask(TOOLS, results(first))
      return program.sent()
    })
    .toEqual(['receipts', 'proposals'])
})

const OTHERWISE: [string, (program: Counted) => unknown, tools?: string[]][] = [
  ['with other tools', () => {}, ['look']],
  ['after more than a second', () => sleep(1_050)],
  ['after a label', ({ session }) => session.addLabel('seen')],
  ['after a filter', ({ session }) => session.narrow(['look', 'send'])],
  [
    'after a turn without tools',
    async ({ ask }) => {
      agent.provider.enqueue(says('a summary'))
      await ask([])
    },
  ],
]
for (const [when, act, tools = TOOLS] of OTHERWISE) {
  proves('turn.next.no-preflight', `a turn ${when} sends a preflight`, async () => {
    const program = await underWay()
    await act(program)
    program.sent()
    agent.provider.enqueue(calls(['look', {}]))
    expect(callNames(await program.ask(tools))).toEqual(['look'])
    expect(program.sent().filter((path) => path !== 'labels' && path !== 'tool-filter')).toEqual([
      'preflight',
      'proposals',
    ])
  })
}

proves('turn.next.no-preflight', 'a label that is set while the receipts are on their way counts', async () => {
  const program = await underWay()
  program.answering = async (path, answer) => {
    if (path === 'receipts') program.session.addLabel('untrusted')
    return answer
  }
  await look(program)
  program.sent()
  agent.provider.enqueue(says('done'))
  await program.ask(TOOLS)
  expect(agent.provider.requests.at(-1)?.body?.tools).toHaveLength(1)
  expect(program.sent()).toContain('preflight')
})

proves(
  'turn.next.same-again',
  'where the reply to the receipts is lost, the turn is prepared by their repetition',
  async () => {
    const program = await underWay()
    let lost = 0
    program.answering = async (path, answer) => {
      if (path !== 'receipts' || lost++ > 0) return answer
      throw new TypeError('the connection was reset')
    }
    await look(program)
    agent.provider.enqueue(says('done'))
    await program.ask(TOOLS)
    expect(program.sent()).toEqual(['proposals', 'receipts', 'receipts', 'proposals'])
    await ledgerOf(program)
  },
)

proves(
  'turn.next.judged-anew',
  'a label that came from elsewhere counts for the answer, which is judged once more',
  async () => {
    const program = await underWay()
    const { session, ask, ran } = program
    await api.addLabel({ params: { session_id: session.sessionId }, body: { label: 'untrusted' } })
    program.sent()
    agent.provider.enqueue(calls(['look', {}, 'l'], ['send', {}, 's']))
    await expect(ask(TOOLS)).rejects.toMatchObject({ decision: { blocked: [{ tool_name: 'send' }] } })
    expect(program.sent()).toEqual(['proposals', 'preflight', 'proposals'])
    await expect(session.tools?.send?.({}, { callId: 's' })).rejects.toThrow('did not run')
    expect(ran).not.toContain('send')
    agent.provider.enqueue(calls(['look', {}]))
    expect(callNames(await ask(TOOLS))).toEqual(['look'])
    await ledgerOf(program)
  },
)

proves(
  ['turn.next.judged-anew', 'control.kill.held-by-server'],
  'a kill from elsewhere: the model may be asked once more, and none of its calls is released',
  async () => {
    const program = await underWay()
    const { session, ask, ran } = program
    const before = ran.length
    await api.killSession({ params: { session_id: session.sessionId }, body: {} })
    agent.provider.enqueue(calls(['look', {}, 'late']))
    await expect(ask(TOOLS)).rejects.toThrow(ReplayKillError)
    await expect(session.tools?.look?.({}, { callId: 'late' })).rejects.toThrow()
    await expect(ask(TOOLS)).rejects.toThrow(ReplayKillError)
    expect(ran).toHaveLength(before)
    expect((await ledgerOf(program)).at(-1)).toBe('killed')
  },
)

proves(
  ['turn.next.judged-anew', 'guarantee.processes.one-holder'],
  'a turn of a process that has lost the session to another is released nothing',
  async () => {
    const program = await underWay()
    const { session, ask, ran } = program
    const before = ran.length
    const other = begin({ sessionId: session.sessionId, takeover: true })
    await look(other)
    agent.provider.enqueue(calls(['look', {}, 'late']))
    await expect(ask(TOOLS)).rejects.toThrow('another holder has recovered this session')
    await expect(session.tools?.look?.({}, { callId: 'late' })).rejects.toThrow()
    expect(ran).toHaveLength(before)
    agent.provider.take()
    await look(other)
    expect(other.ran).toEqual(['look', 'look'])
    await ledgerOf(other)
  },
)

proves(
  ['turn.next.judged-anew', 'state.server-failure.blocks'],
  'where the server is away by then, the model may be asked, and its answer is not released',
  async () => {
    const program = await underWay({ timeoutMs: 200 })
    const before = program.session.getState()
    program.answering = async () => {
      throw new TypeError('the connection was refused')
    }
    agent.provider.enqueue(calls(['look', {}, 'unjudged']))
    await expect(program.ask(TOOLS)).rejects.toThrow(ReplayUnavailableError)
    await expect(program.session.tools?.look?.({}, { callId: 'unjudged' })).rejects.toThrow('did not run')
    expect(program.session.getState()).toMatchObject({ totalToolCalls: before.totalToolCalls })
  },
)
