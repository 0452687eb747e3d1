import { randomUUID } from 'node:crypto'
import { checkWorkflow } from '../support/model/workflow-checker.js'
import { faultyDatabase } from '../support/postgres/faulty-database.js'
import { type Attempt, describeLostWrites } from '../support/postgres/lost-writes.js'
import { succeeded } from '../support/runtime/governed-session.js'
import { NOTHING_BESIDE } from '../support/runtime/nothing-beside.js'
import { withRuntime } from '../support/runtime/with-runtime.js'
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
} from '../support/runtime/workflow.js'

const store = faultyDatabase()
const { runtime, api } = await withRuntime({ wrapDatabase: store.wrap, parts: NOTHING_BESIDE })

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
    return { id: workflowId, send: () => api.createSession({ body }) }
  },
  'answering an offer': async () => {
    const root = await openWorkflow(api)
    const { workflowId } = root
    const { handoff_id: handoffId } = await offer(root)
    const session_id = `ses-${randomUUID()}`
    return { id: workflowId, send: () => tryJoin(api, { workflowId, handoffId, session_id }) }
  },
  'an offer': async () => {
    const root = await openWorkflow(api)
    const handoff_id = `hnd-${randomUUID()}`
    return { id: root.workflowId, send: () => tryOffer(root, { handoff_id }) }
  },
  'a completion': async () => {
    const { child, workflowId, at } = await handedOver()
    return { id: workflowId, send: () => settle('completeHandoff', child, at) }
  },
  'a reclaim': async () => {
    const { root, child, workflowId, at } = await handedOver()
    await runtime.sql`update session_heads set lease_until = clock_timestamp() where session_id = ${child.sessionId}`
    return { id: workflowId, send: () => settle('reclaimHandoff', root, at) }
  },
  'a kill of all': async () => {
    const { workflowId } = await handedOver()
    return { id: workflowId, send: () => api.killWorkflow({ params: { workflow_id: workflowId }, body: {} }) }
  },
  'a proposal that takes a resource': async () => {
    const { child, workflowId } = await handedOver()
    const id = randomUUID()
    await child.preflight({ prepared_request_id: id })
    const again = { status: 409, code: 'PREPARED_REQUEST_CONSUMED' }
    return { id: workflowId, send: () => child.propose(id, [pay('7')]), again }
  },
  'a receipt that frees it': async () => {
    const { child, workflowId } = await handedOver()
    const receipts = succeeded((await child.decide([pay('7')])).decisions)
    return { id: workflowId, send: () => child.receipts(receipts) }
  },
}

/** How much is stored of a workflow and of its sessions. */
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
  const [audited] = await runtime.sql`select count(*) from audit_entries where subject = ${workflowId}`
  return { ...Object.fromEntries(await Promise.all(counts)), audited: audited?.count }
}

describeLostWrites({ store, writes: WRITES, keptOf, problemsOf: (workflowId) => checkWorkflow(runtime, workflowId) })
