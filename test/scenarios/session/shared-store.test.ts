import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { SessionStore, StoredSession } from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { type Agent, calls, results, says, startAgent } from '../../support/runtime/agent.js'

let agent: Agent
beforeAll(async () => {
  agent = await startAgent()
})
afterAll(() => agent.close())

/** As a database would keep it: copies, and a save only on top of what was read. */
class SharedStore implements SessionStore {
  readonly sessions = new Map<string, StoredSession>()

  async load(sessionId: string): Promise<StoredSession | null> {
    await new Promise((done) => setTimeout(done, 2))
    return structuredClone(this.sessions.get(sessionId) ?? null)
  }

  async save(sessionId: string, stored: StoredSession, expectedVersion: number): Promise<boolean> {
    await new Promise((done) => setTimeout(done, 2))
    if ((this.sessions.get(sessionId)?.version ?? 0) !== expectedVersion) return false
    this.sessions.set(sessionId, structuredClone(stored))
    return true
  }
}

const contracts = [
  { tool: 'look', side_effect: 'read' as const },
  { tool: 'send', side_effect: 'read' as const, labels: { deny_when: ['untrusted'] } },
]

/** Programs that share a session by its id, each as a process of its own would. */
function share() {
  const store = new SharedStore()
  const sessionId = `ses-${crypto.randomUUID()}`
  const join = () =>
    agent.start({ contracts, tools: { look: () => 'seen', send: () => 'sent' }, store, sessionId, mode: 'enforce' })
  return { join, state: () => store.sessions.get(sessionId)?.state }
}

test('a label and a filter that a program sets on a session it goes on with hold from its first call', async () => {
  const { join, state } = share()
  agent.provider.enqueue(says('hello'))
  const before = join()
  await before.ask(['look'])
  await before.session.restore()
  const { session, ask } = join()
  session.addLabel('untrusted')
  session.narrow(['send'])
  agent.provider.enqueue(calls(['send', {}]), calls(['look', {}]))
  await expect(ask(['look', 'send'])).rejects.toThrow('forbidden_tool')
  await expect(ask(['look', 'send'])).rejects.toThrow('forbidden_tool')
  expect(state()).toMatchObject({ labels: ['untrusted'], toolFilter: ['send'] })
})

test('a label and a kill outlive what another process saved meanwhile', async () => {
  const { join, state } = share()
  const [one, other] = [join(), join()]
  agent.provider.enqueue(says('a'), says('b'), calls(['send', {}]))
  await one.ask(['look'])
  await other.ask(['look']).catch(() => {})
  await other.session.addLabel('seen')
  await other.session.flush()
  one.session.addLabel('untrusted')
  await one.session.flush()
  expect(state()?.labels).toEqual(['seen', 'untrusted'])
  await expect(one.ask(['send'])).rejects.toThrow('forbidden_tool')
  other.session.kill()
  await other.session.flush()
  expect(state()).toMatchObject({ status: 'KILLED', labels: ['seen', 'untrusted'] })
})

test('the receipt of a tool is stored although another process saved while it ran', async () => {
  const { join, state } = share()
  const [one, other] = [join(), join()]
  agent.provider.enqueue(calls(['look', {}]), says('done'))
  const first = await one.ask(['look'])
  await other.session.addLabel('seen')
  await other.session.flush()
  await one.session.tools?.look?.({})
  expect(state()).toMatchObject({ stateVersion: 1, labels: ['seen'], open: null })
  await one.ask(['look'], results(first))
})

proves(
  'guarantee.processes.fresh-word',
  'a kill by another process reaches the store, and a call that waits there',
  async () => {
    const { join } = share()
    const [one, other] = [join(), join()]
    agent.provider.enqueue(calls(['look', {}]), calls(['look', {}]))
    await one.ask(['look'])
    other.session.kill()
    await other.session.flush()
    const real = Date.now.bind(Date)
    const later = vi.spyOn(Date, 'now').mockImplementation(() => real() + 5_001)
    try {
      const blocked = { decision: { blocked: [{ reason: 'killed' }] } }
      await expect(one.session.tools?.look?.({})).rejects.toMatchObject(blocked)
    } finally {
      later.mockRestore()
    }
    expect(one.diagnostics).toContainEqual(expect.objectContaining({ type: 'replay_killed', cause: 'store' }))
  },
)
