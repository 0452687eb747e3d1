import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { PATIENCE_MS, rounds } from '../support/data/rounds.js'
import { checkWorkflow } from '../support/model/workflow-checker.js'
import { closeRace, expectBoth } from '../support/runtime/close-race.js'
import { attachSession, succeeded } from '../support/runtime/governed-session.js'
import { withRuntime } from '../support/runtime/with-runtime.js'
import { join, lookUp, offer, openWorkflow, pay, settle, tryJoin } from '../support/runtime/workflow.js'

const { runtime } = await withRuntime({ instances: 2 })

const here = () => runtime.api()
const there = () => runtime.api(runtime.key, runtime.instances[1])
const lapse = (sessionId: string) =>
  runtime.sql`update session_heads set revision = revision || ':lapsed', lease_until = clock_timestamp() where session_id = ${sessionId}`

async function handedOver() {
  const root = await openWorkflow(here())
  const { handoff_id: handoffId } = await offer(root)
  const { workflowId } = root
  const child = await join(there(), { workflowId, handoffId })
  return { root, child, at: { workflowId, handoffId } }
}

test(
  'complete races reclaim: one of them wins, and all ledgers agree on which',
  async () => {
    const race = closeRace()
    for (let round = 0; round < rounds(20, 500); round++) {
      const { root, child, at } = await handedOver()
      await lapse(child.sessionId)
      const [complete, reclaim] = await race.run({
        first: () => settle('completeHandoff', child, at),
        second: () => settle('reclaimHandoff', root, at),
        firstWon: ({ status }) => status === 200,
      })
      expect([complete.status, reclaim.status].sort()).toEqual([200, 409])
      const loser = complete.status === 200 ? reclaim : complete
      expect(loser.problem.code).toBe('HANDOFF_STATE')
      if (round % 25 === 0) expect(await checkWorkflow(runtime, at.workflowId)).toEqual([])
    }
    expectBoth(race, 'complete', 'reclaim')
  },
  PATIENCE_MS,
)

test(
  'two joins on one offer: one session is created, and it alone has the handoff',
  async () => {
    const race = closeRace()
    for (let round = 0; round < rounds(20, 500); round++) {
      const root = await openWorkflow(here())
      const { workflowId } = root
      const { handoff_id: handoffId } = await offer(root)
      const joins = await race.run({
        first: () => tryJoin(here(), { workflowId, handoffId }),
        second: () => tryJoin(there(), { workflowId, handoffId }),
        firstWon: ({ status }) => status === 201,
      })
      expect(joins.map(({ status }) => status).sort()).toEqual([201, 409])
      const winner = joins.find(({ status }) => status === 201)
      const { body } = await here().loadWorkflow({ params: { workflow_id: workflowId } })
      expect(body.handoffs).toMatchObject([{ state: 'accepted', to_session: winner?.body.session.session_id }])
      expect(body.sessions).toHaveLength(2)
      if (round % 25 === 0) expect(await checkWorkflow(runtime, workflowId)).toEqual([])
    }
    expectBoth(race, 'the join through one server', 'through the other')
  },
  PATIENCE_MS,
)

test(
  'a kill races a join: no session of a killed workflow lives, however late it came',
  async () => {
    const race = closeRace()
    for (let round = 0; round < rounds(20, 500); round++) {
      const root = await openWorkflow(here())
      const { workflowId } = root
      const { handoff_id: handoffId } = await offer(root)
      const [late, killed] = await race.run({
        first: () => tryJoin(here(), { workflowId, handoffId }),
        second: () => there().killWorkflow({ params: { workflow_id: workflowId }, body: {} }),
        firstWon: ({ status }) => status === 201,
      })
      expect(killed.status).toBe(200)
      if (late.status !== 201) expect([late.status, late.problem.code]).toEqual([409, 'WORKFLOW_KILLED'])
      const { body } = await here().loadWorkflow({ params: { workflow_id: workflowId } })
      expect(new Set(body.sessions.map(({ status }) => status))).toEqual(new Set(['KILLED']))
      expect(killed.body.sessions_killed).toBe(body.sessions.length)
      if (round % 25 === 0) expect(await checkWorkflow(runtime, workflowId)).toEqual([])
    }
    expectBoth(race, 'the join', 'the kill')
  },
  PATIENCE_MS,
)

test(
  'two sessions want one resource at once: never both have it, and a kill of the workflow leaves nobody waiting',
  async () => {
    const forResource = closeRace()
    const forEnd = closeRace()
    for (let round = 0; round < rounds(12, 500); round++) {
      const { root, child, at } = await handedOver()
      const decided = await forResource.run({
        first: () => root.decide([lookUp('7')]),
        second: () => child.decide([pay('7')]),
        firstWon: ({ outcome }) => outcome === 'allowed',
      })
      expect(decided.map(({ outcome }) => outcome).sort()).toEqual(['allowed', 'blocked'])
      const [session, verdict] = decided[0]?.outcome === 'allowed' ? [root, decided[0]] : [child, decided[1]]
      const [received, killed] = await forEnd.run({
        first: () => session.receipts(succeeded(verdict?.decisions ?? [])),
        second: () => there().killWorkflow({ params: { workflow_id: at.workflowId }, body: {} }),
        firstWon: ({ body }) => body.committed,
      })
      expect([received.status, killed.status]).toEqual([200, 200])
      if (round % 10 === 0) expect(await checkWorkflow(runtime, at.workflowId)).toEqual([])
    }
    expectBoth(forResource, 'one session', 'the other')
    expectBoth(forEnd, 'the receipt', 'the kill')
  },
  PATIENCE_MS,
)

test(
  'one create sent to two servers at once is one session, whether it opens a workflow or answers an offer',
  async () => {
    for (let round = 0; round < rounds(5, 200); round++) {
      const workflowId = `wfl-${randomUUID()}`
      const session_id = `ses-${randomUUID()}`
      const opened = await Promise.all([here(), there()].map((api) => openWorkflow(api, { workflowId, session_id })))
      expect(opened[0]?.created).toEqual(opened[1]?.created)
      const [root] = opened
      if (root === undefined) throw new Error('nothing was opened')
      const { handoff_id: handoffId } = await offer(attachSession(there(), root))
      const child = `ses-${randomUUID()}`
      const joins = await Promise.all(
        [here(), there()].map((api) => tryJoin(api, { workflowId, handoffId, session_id: child })),
      )
      expect(joins.map(({ status }) => status)).toEqual([201, 201])
      expect(await checkWorkflow(runtime, workflowId)).toEqual([])
    }
  },
  PATIENCE_MS,
)
