import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import type { GovernedSession } from '../support/runtime/governed-session.js'
import type { Api, TestTenant } from '../support/runtime/runtime.js'
import { withRuntime } from '../support/runtime/with-runtime.js'
import { join, offer, openWorkflow, tryJoin } from '../support/runtime/workflow.js'

/** Two workflows of one tenant, and one of another: ids of each are tried in every place of the others. */
interface World {
  workflowId: string
  root: GovernedSession
  child: GovernedSession
  handoffId: string
  offerId: string
}

let stranger: TestTenant
let theirs: World
let other: World
let mine: World
const { runtime } = await withRuntime()
beforeAll(async () => {
  stranger = await runtime.createTenant()
  theirs = await world(runtime.api(stranger.key))
  other = await world(runtime.api())
  mine = await world(runtime.api())
})

async function world(api: Api): Promise<World> {
  const root = await openWorkflow(api)
  const { workflowId } = root
  const { handoff_id: handoffId } = await offer(root)
  const child = await join(api, { workflowId, handoffId })
  const { handoff_id: offerId } = await offer(root)
  return { workflowId, root, child, handoffId, offerId }
}

const nowhere = (): Pick<World, 'workflowId' | 'handoffId' | 'offerId'> & { root: { sessionId: string } } => ({
  workflowId: `wfl-${randomUUID()}`,
  handoffId: `hnd-${randomUUID()}`,
  offerId: `hnd-${randomUUID()}`,
  root: { sessionId: `ses-${randomUUID()}` },
})

type Ids = ReturnType<typeof nowhere>
type Place = (ids: Ids) => Promise<{ status: number; problem: unknown }>

/** Each place that takes an id, with everything else in the request being right. */
const PLACES: Readonly<Record<string, Place>> = {
  'the workflow that is loaded': ({ workflowId }) =>
    runtime.api().loadWorkflow({ params: { workflow_id: workflowId } }),
  'the workflow whose ledger is read': ({ workflowId }) =>
    runtime.api().exportWorkflowEvents({ params: { workflow_id: workflowId } }),
  'the workflow that is joined': ({ workflowId }) => tryJoin(runtime.api(), { workflowId, role: 'researcher' }),
  'the offer that is answered': ({ offerId }) =>
    tryJoin(runtime.api(), { workflowId: mine.workflowId, handoffId: offerId }),
  'the workflow of an offer of ours': ({ workflowId }) =>
    tryJoin(runtime.api(), { workflowId, handoffId: mine.offerId }),
  'the session that offers': ({ root }) =>
    runtime.api().offerHandoff({
      params: { session_id: root.sessionId },
      body: { handoff_id: 'hnd-new', fence: 99, to_role: 'payer' },
    }),
  'the workflow of a handoff that is completed': ({ workflowId }) => complete({ workflowId }),
  'the handoff that is completed': ({ handoffId }) => complete({ handoffId }),
  'the session that completes': ({ root }) => complete({ sessionId: root.sessionId }),
  'the workflow of a handoff that is reclaimed': ({ workflowId }) => reclaim({ workflowId }),
  'the handoff that is reclaimed': ({ handoffId }) => reclaim({ handoffId }),
  'the session that reclaims': ({ root }) => reclaim({ sessionId: root.sessionId }),
  'the workflow that is killed': ({ workflowId }) =>
    runtime.api().killWorkflow({ params: { workflow_id: workflowId }, body: {} }),
}

interface Given {
  workflowId?: string
  handoffId?: string
  sessionId?: string
}

const complete = ({
  workflowId = mine.workflowId,
  handoffId = mine.handoffId,
  sessionId = mine.child.sessionId,
}: Given) =>
  runtime.api().completeHandoff({
    params: { workflow_id: workflowId, handoff_id: handoffId },
    body: { session_id: sessionId, fence: 1 },
  })
const reclaim = ({
  workflowId = mine.workflowId,
  handoffId = mine.handoffId,
  sessionId = mine.root.sessionId,
}: Given) =>
  runtime.api().reclaimHandoff({
    params: { workflow_id: workflowId, handoff_id: handoffId },
    body: { session_id: sessionId, fence: 1 },
  })

/** Places in which an id of another workflow of the same tenant is right by itself. */
const OWN_ANYWAY = /loaded|ledger is read|is joined|session that offers|is killed/
const places = Object.entries(PLACES)

async function expectUnknown(place: Place, ids: Ids): Promise<void> {
  const [foreign, unknown] = [await place(ids), await place(nowhere())]
  expect([foreign.status, foreign.problem]).toEqual([unknown.status, unknown.problem])
  expect(foreign.status).toBe(404)
}

describe("another tenant's id is answered like one that does not exist", () => {
  test.each(places)('%s', (_name, place) => expectUnknown(place, theirs))
})

describe("another workflow's id is answered like one that does not exist", () => {
  test.each(places.filter(([name]) => !OWN_ANYWAY.test(name)))('%s', (_name, place) => expectUnknown(place, other))
})

test('and nothing was changed', async () => {
  for (const [key, { workflowId }] of [
    [runtime.key, mine],
    [runtime.key, other],
    [stranger.key, theirs],
  ] as const) {
    const { body } = await runtime.api(key).loadWorkflow({ params: { workflow_id: workflowId } })
    expect([body.status, body.sessions.length, body.handoffs.map(({ state }) => state)]).toEqual([
      'ACTIVE',
      2,
      ['accepted', 'offered'],
    ])
    expect(body.sessions.every(({ status }) => status === 'ACTIVE')).toBe(true)
  }
})
