import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { PATIENCE_MS, rounds } from '../support/data/rounds.js'
import { checkSession } from '../support/model/session-checker.js'
import { proves } from '../support/proves.js'
import { closeRace, expectBoth } from '../support/runtime/close-race.js'
import {
  ALL_TOOLS,
  attachSession,
  LOOKUP,
  openSession,
  reserve,
  succeeded,
} from '../support/runtime/governed-session.js'
import { exportOf } from '../support/runtime/ledger-export.js'
import { withRuntime } from '../support/runtime/with-runtime.js'

const { runtime } = await withRuntime({ instances: 2 })

proves(
  'guarantee.kill-wins',
  'a kill that races proposals: what was allowed was allowed before, and nothing after',
  async () => {
    const race = closeRace()
    for (let round = 0; round < rounds(40, 1_000); round++) {
      const session = await openSession(runtime.api())
      const other = attachSession(runtime.api(runtime.key, runtime.instances[1]), session)
      const id = randomUUID()
      await session.preflight({ prepared_request_id: id })
      const [killed, answers] = await race.run({
        first: () => other.api.killSession({ params: { session_id: session.sessionId }, body: {} }),
        second: () => Promise.all([session.propose(id, [reserve(1)]), other.propose(id, [reserve(1)])]),
        firstWon: (_, proposed) => proposed.every(({ status }) => status !== 200),
      })
      expect(killed.body).toMatchObject({ status: 'KILLED', killed: true })
      const exported = await exportOf(session.api, session.sessionId)
      const types = exported.events.map(({ type }) => type)
      const accepted = answers.filter(({ status }) => status === 200).length
      // Nothing comes after the kill, and every acceptance stands before it.
      expect(types.at(-1)).toBe('killed')
      expect(types.filter((type) => type === 'proposal')).toHaveLength(accepted)
      for (const { problem } of answers.filter(({ status }) => status !== 200)) {
        expect(['SESSION_KILLED', 'PREPARED_REQUEST_CONSUMED']).toContain(problem.code)
      }
      expect((await session.propose(id, [reserve(1)])).problem).not.toHaveProperty('proposal')
      if (round % 20 === 0) expect(await checkSession(runtime.sql, session.sessionId, exported)).toEqual([])
    }
    expectBoth(race, 'the kill', 'a proposal')
  },
  PATIENCE_MS,
)

proves(
  'guarantee.kill-wins',
  'a kill between a lost answer and its retry: no allow comes back, on any instance',
  async () => {
    for (let round = 0; round < rounds(10, 200); round++) {
      const session = await openSession(runtime.api())
      const other = attachSession(runtime.api(runtime.key, runtime.instances[1]), session)
      const id = randomUUID()
      await session.preflight({ prepared_request_id: id })
      expect((await session.propose(id, [LOOKUP])).status).toBe(200)
      await other.api.killSession({ params: { session_id: session.sessionId }, body: {} })
      for (const retry of [await session.propose(id, [LOOKUP]), await other.propose(id, [LOOKUP])]) {
        expect([retry.status, retry.problem.code]).toEqual([409, 'SESSION_KILLED'])
        expect(retry.problem).not.toHaveProperty('proposal')
      }
    }
  },
  PATIENCE_MS,
)

proves(
  ['guarantee.kill-wins', 'turn.next'],
  'a kill that races receipts: every receipt is stored, the step commits before the kill or not at all, and no turn comes after it',
  async () => {
    const race = closeRace()
    for (let round = 0; round < rounds(20, 400); round++) {
      const session = await openSession(runtime.api())
      const { decisions } = await session.decide([LOOKUP])
      const other = runtime.api(runtime.key, runtime.instances[1])
      const next = { prepared_request_id: randomUUID(), tools: ALL_TOOLS }
      const [, answer] = await race.run({
        first: () => other.killSession({ params: { session_id: session.sessionId }, body: {} }),
        second: () => session.receipts(succeeded(decisions), 1, next),
        firstWon: (_, { body }) => !body.committed,
      })
      expect(answer.status).toBe(200)
      if (!answer.body.committed) expect(answer.body.next).toBeNull()
      const late = await session.propose(next.prepared_request_id, [LOOKUP])
      expect(late.status).toBe(answer.body.next === null ? 404 : 409)
      expect(answer.body.committed).toBe(!answer.body.results[0]?.late)
      const exported = await exportOf(session.api, session.sessionId)
      expect(await checkSession(runtime.sql, session.sessionId, exported)).toEqual([])
    }
    expectBoth(race, 'the kill', 'the receipt')
  },
  PATIENCE_MS,
)
