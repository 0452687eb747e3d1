import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Fault, faultyDatabase } from '../support/faulty-database.js'
import { succeeded } from '../support/governed-session.js'
import { type Answer, type Api, type Runtime, startRuntime } from '../support/runtime.js'
import {
  join,
  offer,
  openWorkflow,
  PAYMENT_PLAN,
  PAYMENTS,
  pay,
  settle,
  tryJoin,
  tryOffer,
} from '../support/workflow.js'
import { checkWorkflow } from '../support/workflow-checker.js'

const store = faultyDatabase()
let runtime: Runtime
let api: Api
beforeAll(async () => {
  // Captures are written beside the requests, a moment later: not what is counted here.
  const captures = { note: () => {}, flush: async () => {}, close: async () => {} }
  runtime = await startRuntime({ wrapDatabase: store.wrap, parts: { captures } })
  api = runtime.api()
})
afterAll(() => runtime.close())

interface Attempt {
  readonly workflowId: string
  /** The same request every time, as a client that got no answer would send it again. */
  readonly send: () => Promise<Answer<unknown>>
  /** What the retry answers when the write was done, and its answer lost; where nothing is said, as if it were new. */
  readonly again?: { readonly status: number; readonly code: string }
}

async function handedOver() {
  const root = await openWorkflow(api)
  const { workflowId } = root
  const { handoff_id: handoffId } = await offer(root)
  const child = await join(api, { workflowId, handoffId })
  return { root, child, workflowId, at: { workflowId, handoffId } }
}

/** Every write that concerns a workflow, as a request that can be sent again. */
const WRITES: Record<string, () => Promise<Attempt>> = {
  'opening a workflow': async () => {
    const workflowId = `wfl-${randomUUID()}`
    const workflow = { workflow_id: workflowId, role: 'researcher', definition: PAYMENTS }
    const body = { session_id: `ses-${randomUUID()}`, holder_id: 'h', ...PAYMENT_PLAN, workflow }
    return { workflowId, send: () => api.createSession({ body }) }
  },
  'answering an offer': async () => {
    const root = await openWorkflow(api)
    const { workflowId } = root
    const { handoff_id: handoffId } = await offer(root)
    const session_id = `ses-${randomUUID()}`
    return { workflowId, send: () => tryJoin(api, { workflowId, handoffId, session_id }) }
  },
  'an offer': async () => {
    const root = await openWorkflow(api)
    const handoff_id = `hnd-${randomUUID()}`
    return { workflowId: root.workflowId, send: () => tryOffer(root, { handoff_id }) }
  },
  'a completion': async () => {
    const { child, workflowId, at } = await handedOver()
    return { workflowId, send: () => settle('completeHandoff', child, at) }
  },
  'a reclaim': async () => {
    const { root, child, workflowId, at } = await handedOver()
    await runtime.sql`update sessions set lease_until = clock_timestamp() where session_id = ${child.sessionId}`
    return { workflowId, send: () => settle('reclaimHandoff', root, at) }
  },
  'a kill of all': async () => {
    const { workflowId } = await handedOver()
    return { workflowId, send: () => api.killWorkflow({ params: { workflow_id: workflowId }, body: {} }) }
  },
  'a proposal that takes a resource': async () => {
    const { child, workflowId } = await handedOver()
    const id = randomUUID()
    await child.preflight({ prepared_request_id: id })
    const again = { status: 409, code: 'PREPARED_REQUEST_CONSUMED' }
    return { workflowId, send: () => child.propose(id, [pay('7')]), again }
  },
  'a receipt that frees it': async () => {
    const { child, workflowId } = await handedOver()
    const receipts = succeeded((await child.decide([pay('7')])).decisions)
    return { workflowId, send: () => child.receipts(receipts) }
  },
}

/** How much is kept of a workflow and of its sessions. */
async function keptOf(workflowId: string): Promise<Record<string, number>> {
  const counts = [
    ...['workflows', 'workflow_events', 'handoffs', 'resource_holds', 'sessions'].map(async (table) => {
      const [row] = await runtime.sql`select count(*) from ${runtime.sql(table)} where workflow_id = ${workflowId}`
      return [table, row?.count] as const
    }),
    ...['session_events', 'prepared_requests', 'proposals', 'pending_calls', 'receipts'].map(async (table) => {
      const [row] = await runtime.sql`
        select count(*) from ${runtime.sql(table)}
        where session_id in (select session_id from sessions where workflow_id = ${workflowId})`
      return [table, row?.count] as const
    }),
  ]
  return Object.fromEntries(await Promise.all(counts))
}

describe.each(Object.keys(WRITES))('%s', (name) => {
  const attempt = WRITES[name]!

  test('is one write', async () => {
    const { send } = await attempt()
    store.takeWrites()
    expect((await send()).status).toBeLessThan(300)
    expect(store.takeWrites()).toBe(1)
  })

  test.each<[Fault, string]>([
    ['before', 'fails before it reaches the store'],
    ['after', 'is done and its answer lost'],
  ])('%s: %s, the client can go on and nothing happens twice', async (fault) => {
    const undisturbed = await attempt()
    const smooth = await undisturbed.send()
    const { send, workflowId, again } = await attempt()
    const before = await keptOf(workflowId)
    store.failNext(fault)
    const failed = await send()
    expect([failed.status, failed.problem.code]).toEqual([503, 'UNAVAILABLE'])
    if (fault === 'before') expect(await keptOf(workflowId)).toEqual(before)
    const retried = await send()
    if (fault === 'after' && again !== undefined)
      expect([retried.status, retried.problem.code]).toEqual([again.status, again.code])
    else expect(retried.status).toBe(smooth.status)
    // Once more, to be sure: what is kept is what one undisturbed request leaves.
    await send()
    expect(await keptOf(workflowId)).toEqual(await keptOf(undisturbed.workflowId))
    expect(await checkWorkflow(runtime, workflowId)).toEqual([])
  })
})
