import { randomUUID } from 'node:crypto'
import type { Contract, HandoffView, RequestBody, Routes, WorkflowDefinition } from '@countersign/protocol'
import { expectStatus, type GovernedSession, openSession } from './governed-session.js'
import { planOf } from './plans.js'
import type { Api } from './runtime.js'

/** A researcher reads documents and hands payments on; a payer pays, and may have its work checked. */
export const PAYMENTS: WorkflowDefinition = {
  name: 'payments',
  roles: {
    researcher: { root: true, tools: ['read_document', 'look_up'] },
    payer: { tools: ['look_up', 'pay'] },
    auditor: { tools: ['look_up', 'pay'] },
  },
  handoffs: [
    { from: 'researcher', to: 'payer' },
    { from: 'payer', to: 'auditor', tools: ['look_up', 'pay'] },
  ],
}

const anything = { type: 'object' }
export const PAYMENT_CONTRACTS: readonly Contract[] = [
  {
    tool: 'read_document',
    side_effect: 'read',
    arguments: anything,
    labels: { adds: ['untrusted_input'] },
  },
  {
    tool: 'look_up',
    side_effect: 'read',
    arguments: anything,
    resources: [{ key: 'invoice:{$.invoice}', mode: 'shared' }],
  },
  {
    tool: 'pay',
    side_effect: 'write',
    commit_requirement: 'reported',
    arguments: anything,
    labels: { deny_when: ['untrusted_input'], adds: ['money_moved'] },
    resources: [{ key: 'invoice:{$.invoice}', mode: 'exclusive' }],
  },
]
export const PAYMENT_PLAN = planOf(PAYMENT_CONTRACTS)
export const PAYMENT_TOOLS = PAYMENT_CONTRACTS.map(({ tool }) => ({ name: tool }))

export const readDocument = (): { name: string; args: Record<string, string> } => ({ name: 'read_document', args: {} })
export const lookUp = (invoice: string) => ({ name: 'look_up', args: { invoice } })
export const pay = (invoice: string) => ({ name: 'pay', args: { invoice } })

type CreateBody = Partial<RequestBody<Routes['createSession']>>
type OfferBody = Partial<RequestBody<Routes['offerHandoff']>>

/** The first session of a workflow, in the role of the researcher unless said. */
export async function openWorkflow(
  api: Api,
  given: { workflowId?: string; role?: string; definition?: WorkflowDefinition } & CreateBody = {},
): Promise<GovernedSession & { workflowId: string }> {
  const { workflowId = `wfl-${randomUUID()}`, role = 'researcher', definition = PAYMENTS, ...body } = given
  const workflow = { workflow_id: workflowId, role, definition }
  const session = await openSession(api, { plan: PAYMENT_PLAN, workflow, ...body })
  return Object.assign(session, { workflowId })
}

/** A session that joins, answering an offer where one is given. */
export function join(
  api: Api,
  { workflowId, role = 'payer', handoffId, ...body }: JoinOptions,
): Promise<GovernedSession> {
  return openSession(api, { plan: PAYMENT_PLAN, workflow: workflowJoin({ workflowId, role, handoffId }), ...body })
}

export type JoinOptions = { workflowId: string; role?: string; handoffId?: string | undefined } & CreateBody

const workflowJoin = ({
  workflowId,
  role,
  handoffId,
}: {
  workflowId: string
  role: string
  handoffId?: string | undefined
}) => ({
  workflow_id: workflowId,
  role,
  ...(handoffId === undefined ? {} : { handoff_id: handoffId }),
})

/** The create of a session that may be refused. */
export function tryJoin(api: Api, { workflowId, role = 'payer', handoffId, ...body }: JoinOptions) {
  return api.createSession({
    body: {
      session_id: `ses-${randomUUID()}`,
      holder_id: 'holder-1',
      ...PAYMENT_PLAN,
      workflow: workflowJoin({ workflowId, role, handoffId }),
      ...body,
    },
  })
}

export function tryOffer(giver: GovernedSession, given: OfferBody = {}) {
  const body = { handoff_id: `hnd-${randomUUID()}`, fence: giver.fence, to_role: 'payer', ...given }
  return giver.api.offerHandoff({ params: { session_id: giver.sessionId }, body })
}

export async function offer(giver: GovernedSession, given: OfferBody = {}): Promise<HandoffView> {
  return expectStatus(await tryOffer(giver, given), 200).body.handoff
}

export function settle(
  move: 'completeHandoff' | 'reclaimHandoff',
  by: GovernedSession,
  { workflowId, handoffId }: { workflowId: string; handoffId: string },
) {
  const call = {
    params: { workflow_id: workflowId, handoff_id: handoffId },
    body: { session_id: by.sessionId, fence: by.fence },
  }
  return by.api[move](call)
}
