import { randomUUID } from 'node:crypto'
import type { RequestBody, Routes } from '@countersign/protocol'
import { batchOf, capturesOf } from '../data/captures.js'
import {
  expectStatus,
  type GovernedSession,
  LOOKUP,
  openSession,
  receiptFor,
  refund,
} from '../runtime/governed-session.js'
import { HELP_DESK, planOf, type TestPlan } from '../runtime/plans.js'
import { join, lookUp, offer, openWorkflow, PAYMENT_PLAN, pay, readDocument, settle } from '../runtime/workflow.js'
import type { Volume } from './volume.js'

const PRICING = { 'openai/gpt-4o*': { input: 2.5, output: 10 }, 'gpt-4o*': { input: 2.5, output: 10 } }

/** The desk of the other tests, with prices, a breaker, and large refunds that a person must approve. */
const DESK = planOf(
  HELP_DESK.map((contract) =>
    contract.tool === 'issue_refund'
      ? { ...contract, checkpoint: { reason: 'A refund above 200', when: [{ path: '$.amount', gt: 200 }] } }
      : contract,
  ),
  { pricing: PRICING, session_limits: { circuit_breaker: { consecutive_blocks: 4 }, max_tool_calls: 40 } },
)

/** Addresses may only come from what a lookup said: such a block has the longest failures. */
const MAIL_DESK = planOf([
  { tool: 'find_person', side_effect: 'read' },
  {
    tool: 'send_mail',
    side_effect: 'write',
    gate: 'allow',
    sources: [{ path: '$.to', from: ['user', { result: 'find_person', path: '$[*].email' }], otherwise: 'block' }],
  },
])

/** Whom the accounts desk pays most often. */
export const PAYEE = 'ann@northwind.example'

/** Values for each order, limits over all sessions, and a label that sticks to whoever the session acts for. */
const ACCOUNTS = planOf(
  [
    { tool: 'read_inbox', side_effect: 'read', labels: { adds: ['untrusted_input'], sticks_to: 'principal' } },
    {
      tool: 'find_order',
      side_effect: 'read',
      binds: [{ name: 'order', from: 'argument', key: '$.id', path: '$.id' }],
    },
    {
      tool: 'pay_back',
      side_effect: 'write',
      gate: 'allow',
      aggregates: [{ name: 'paid_back', key: '$.id', path: '$.amount', lte: 500 }],
    },
  ],
  {
    shared_limits: [
      { name: 'payments_per_customer', tool: 'pay_back', per: { argument: '$.to' }, max_calls: 3, window: '24h' },
      { name: 'paid_per_person', tool: 'pay_back', per: 'principal', sum: '$.amount', lte: 5_000, window: '30d' },
      { name: 'calls_of_agent', per: 'agent', max_calls: 200, window: '1d' },
    ],
  },
)

type Given = Partial<RequestBody<Routes['createSession']>> & { plan?: TestPlan }

/** One conversation from its start to its end. */
export type Story = (volume: Volume, sessionId: string) => Promise<void>

const used = { model: 'gpt-4o-2024-08-06', usage: { input_tokens: 1_250, output_tokens: 84 } }

const desk = (volume: Volume, sessionId: string, given: Given = {}) =>
  openSession(volume.api, {
    session_id: sessionId,
    agent: 'support',
    environment: 'production',
    plan: DESK,
    capture_level: 'full',
    ...given,
  })

/** A turn whose model and tokens are known. */
async function turn(session: GovernedSession, calls: Parameters<GovernedSession['decide']>[0]): Promise<void> {
  const { decisions } = await session.decide(calls, used)
  const receipts = decisions.filter(({ pending_call_id: id }) => id !== null).map((decision) => receiptFor(decision))
  if (receipts.length === 0) return
  session.stateVersion = expectStatus(await session.receipts(receipts), 200).body.state_version
}

const decide = async (session: GovernedSession, calls: Parameters<GovernedSession['decide']>[0]) =>
  (await session.decide(calls, used)).decisions

/** As `restore()` ends a session. */
async function end(volume: Volume, { sessionId, fence }: GovernedSession): Promise<void> {
  expectStatus(await volume.api.endSession({ params: { session_id: sessionId }, body: { fence } }), 200)
}

async function served(volume: Volume, id: string): Promise<void> {
  const session = await desk(volume, id)
  await turn(session, [LOOKUP])
  await turn(session, [refund(40)])
  await end(volume, session)
}

/** What the pages of tests look at most: a step, a block with its rule, and a refund that a person approved. */
async function approvedRefund(volume: Volume, id: string): Promise<void> {
  const session = await desk(volume, id)
  await turn(session, [LOOKUP])
  await decide(session, [refund(900)])
  const [decision] = await decide(session, [refund(250)])
  if (decision === undefined) throw new Error('nothing was decided')
  const approvals = decision.checkpoints.map(({ checkpoint_id }) => ({
    ...{ checkpoint_id, decision: 'approve' as const, argument_hash: decision.argument_hash ?? '' },
    ...{ decided_by: 'dana@northwind.example', decided_at: new Date().toISOString(), reason: 'A known customer' },
  }))
  expectStatus(await session.receipts([receiptFor(decision, { approvals })]), 200)
}

async function tooLarge(volume: Volume, id: string): Promise<void> {
  const session = await desk(volume, id)
  await turn(session, [LOOKUP])
  await decide(session, [refund(700)])
  await turn(session, [refund(70)])
  await end(volume, session)
  await volume.person.call('addLabelByPerson', { params: { session_id: id }, body: { label: 'reviewed' } })
}

async function outOfOrder(volume: Volume, id: string): Promise<void> {
  const session = await desk(volume, id, { environment: 'staging' })
  await decide(session, [refund(30)])
  await decide(session, [{ name: 'delete_customer', args: { id: 'C-77' } }])
}

async function stubborn(volume: Volume, id: string): Promise<void> {
  const session = await desk(volume, id)
  for (let tries = 0; tries < 4; tries += 1) await decide(session, [refund(5_000 + tries)])
}

async function killedByPerson(volume: Volume, id: string): Promise<void> {
  const session = await desk(volume, id)
  await turn(session, [LOOKUP])
  const reason = 'Sent mail to an outside address again and again'
  await volume.person.call('killSessionByPerson', { params: { session_id: id }, body: { reason } })
}

async function killedByProgram(volume: Volume, id: string): Promise<void> {
  const session = await desk(volume, id, { agent: 'billing-ops' })
  await turn(session, [LOOKUP])
  await volume.api.killSession({ params: { session_id: id }, body: { reason: 'the customer hung up' } })
}

async function bypassed(volume: Volume, id: string): Promise<void> {
  const session = await desk(volume, id)
  await turn(session, [LOOKUP])
  await volume.api.reportBypass({ params: { session_id: id }, body: { method: 'chat.completions.create' } })
}

/** Allowed, and the program was never heard of again. */
async function lost(volume: Volume, id: string): Promise<void> {
  const session = await desk(volume, id)
  await turn(session, [LOOKUP])
  await decide(session, [refund(120)])
}

async function inDoubt(volume: Volume, id: string): Promise<void> {
  await lost(volume, id)
  await volume.api.recoverSession({ params: { session_id: id }, body: { holder_id: 'holder-2', takeover: true } })
}

async function mailed(volume: Volume, id: string): Promise<void> {
  const session = await openSession(volume.api, {
    session_id: id,
    agent: 'research',
    environment: 'development',
    plan: MAIL_DESK,
    capture_level: 'full',
  })
  await turn(session, [{ name: 'find_person', args: { name: 'Ann' } }])
  await decide(session, [
    { name: 'send_mail', args: { to: 'someone-who-was-never-mentioned@elsewhere.example', body: 'Hello' } },
  ])
}

async function unnamed(volume: Volume, id: string): Promise<void> {
  const session = await openSession(volume.api, { session_id: id, plan: DESK, capture_level: 'metadata' })
  await turn(session, [LOOKUP])
  await decide(session, [refund(800)])
}

async function longer(volume: Volume, id: string): Promise<void> {
  const session = await desk(volume, id, { labels: ['vip'] })
  for (let step = 0; step < 5; step += 1) await turn(session, [LOOKUP])
  await turn(session, [refund(15)])
}

/** A researcher hands a payment on. One in three is still open, and one in three was killed. */
export async function workflowStory(volume: Volume, id: string, kind: number): Promise<readonly string[]> {
  const given = { plan: PAYMENT_PLAN, capture_level: 'full' as const, environment: 'production' as const }
  const researcher = await openWorkflow(volume.api, {
    workflowId: id,
    session_id: `${id}-read`,
    agent: 'research',
    ...given,
  })
  await turn(researcher, [lookUp(`inv-${id}`)])
  const handoff = await offer(researcher, { handoff_id: `${id}-pay` })
  if (kind % 3 === 1) return [researcher.sessionId]
  const payer = await join(volume.api, {
    workflowId: id,
    handoffId: handoff.handoff_id,
    session_id: `${id}-pay`,
    agent: 'billing-ops',
    ...given,
  })
  await turn(payer, [pay(`inv-${id}`)])
  if (kind % 3 === 0) await settle('completeHandoff', payer, { workflowId: id, handoffId: handoff.handoff_id })
  else {
    await turn(researcher, [readDocument()])
    await volume.person.call('killWorkflowByPerson', {
      params: { workflow_id: id },
      body: { reason: 'A forged invoice' },
    })
  }
  return [researcher.sessionId, payer.sessionId]
}

/** Conversations of an agent that is only observed. */
export async function observe(volume: Volume, agent: string, count: number): Promise<void> {
  const items = Array.from({ length: count }, (_, at) => {
    const name = `Person${at}`
    const email = `person${at}@example.com`
    return capturesOf(
      agent,
      `Write to ${name} that lunch is ready`,
      [
        { name: 'find_person', args: { name }, result: [{ name, email }] },
        { name: 'send_mail', args: { to: email, body: 'Lunch is ready, come over please.' } },
      ],
      { timestamp: volume.ago(at * 8 + 2), conversation_id: `con-${agent}-${at}`, capture_level: 'redacted' },
    ).map((item) => ({ ...item, capture_id: randomUUID() }))
  }).flat()
  for (let from = 0; from < items.length; from += 50) {
    expectStatus(await volume.api.ingestCaptures(batchOf(items.slice(from, from + 50))), 200)
  }
}

async function paidBack(volume: Volume, id: string): Promise<void> {
  const session = await desk(volume, id, { agent: 'accounts', plan: ACCOUNTS, principal: { id: 'clerk-7' } })
  await turn(session, [{ name: 'read_inbox', args: {} }])
  for (const [at, to] of [PAYEE, PAYEE, PAYEE, 'bo@northwind.example'].entries()) {
    await turn(session, [{ name: 'find_order', args: { id: `${id}-${at % 2}` } }])
    await turn(session, [{ name: 'pay_back', args: { id: `${id}-${at % 2}`, to, amount: 120.5 } }])
  }
  await decide(session, [{ name: 'pay_back', args: { id: `${id}-4`, to: PAYEE, amount: 10 } }])
  await end(volume, session)
}

/** One for each of the first sessions, so that every state of a page is there; then by how common it is. */
export const STORIES: readonly { readonly story: Story; readonly weight: number }[] = [
  { story: served, weight: 40 },
  { story: approvedRefund, weight: 8 },
  { story: tooLarge, weight: 12 },
  { story: outOfOrder, weight: 9 },
  { story: stubborn, weight: 2 },
  { story: killedByPerson, weight: 2 },
  { story: killedByProgram, weight: 3 },
  { story: bypassed, weight: 1 },
  { story: lost, weight: 2 },
  { story: inDoubt, weight: 1 },
  { story: mailed, weight: 8 },
  { story: unnamed, weight: 5 },
  { story: longer, weight: 7 },
  { story: paidBack, weight: 0 },
]

export const MAIN_STORY: Story = approvedRefund
