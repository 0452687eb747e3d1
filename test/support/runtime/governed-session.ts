import { randomUUID } from 'node:crypto'
import { saltedHash } from '@countersign/engine'
import type { Decision, JsonObject, Receipt, Reply, RequestBody, Routes } from '@countersign/protocol'
import { HELP_DESK, planOf, type TestPlan } from './plans.js'
import type { Answer, Api } from './runtime.js'

type CreateBody = RequestBody<Routes['createSession']>

/** A client of one session that does what the SDK does, by hand and without memory of its own beyond this. */
export interface GovernedSession {
  readonly sessionId: string
  readonly api: Api
  readonly plan: TestPlan
  readonly created: Reply<Routes['createSession']>
  fence: number
  stateVersion: number
  hash(args: JsonObject): string
  preflight(given?: Partial<RequestBody<Routes['preflight']>>): Promise<Answer<Reply<Routes['preflight']>>>
  propose(
    preparedRequestId: string,
    calls: readonly ToolUse[],
    given?: Partial<RequestBody<Routes['propose']>>,
  ): Promise<Answer<Reply<Routes['propose']>>>
  receipts(
    receipts: readonly Receipt[],
    fence?: number,
    next?: RequestBody<Routes['submitReceipts']>['next'],
  ): Promise<Answer<Reply<Routes['submitReceipts']>>>
  /** Preflight and proposal. Throws unless both are answered 200. */
  decide(calls: readonly ToolUse[], given?: Partial<RequestBody<Routes['propose']>>): Promise<Reply<Routes['propose']>>
  /** A whole turn in which every allowed call succeeds. */
  turn(calls: readonly ToolUse[]): Promise<Reply<Routes['submitReceipts']> | null>
  load(): Promise<Reply<Routes['loadSession']>>
}

export interface ToolUse {
  name: string
  args: JsonObject
  id?: string
}

export const ALL_TOOLS = HELP_DESK.map(({ tool }) => ({ name: tool }))

const helpDesk = planOf(HELP_DESK)

export async function openSession(
  api: Api,
  given: Partial<CreateBody> & { plan?: TestPlan } = {},
): Promise<GovernedSession> {
  const { plan = helpDesk, ...body } = given
  const sessionId = body.session_id ?? `ses-${randomUUID()}`
  const answer = await api.createSession({
    body: {
      session_id: sessionId,
      holder_id: 'holder-1',
      compiled_hash: plan.compiled_hash,
      compiled_session: plan.compiled_session,
      ...body,
    },
  })
  if (answer.status !== 201) throw new Error(`create answered ${answer.status}: ${JSON.stringify(answer.problem)}`)
  return attachSession(api, { sessionId, plan, created: answer.body })
}

/** Goes on with a session that exists, as the same holder, perhaps through another instance or key. */
export function attachSession(
  api: Api,
  { sessionId, plan, created }: Pick<GovernedSession, 'sessionId' | 'plan' | 'created'>,
): GovernedSession {
  const params = { session_id: sessionId }
  const session: GovernedSession = {
    sessionId,
    api,
    plan,
    created,
    fence: created.fence,
    stateVersion: created.session.state_version,
    hash: (args) => saltedHash(created.hash_salt, args),
    preflight: (body = {}) =>
      api.preflight({
        params,
        body: {
          prepared_request_id: randomUUID(),
          fence: session.fence,
          state_version: session.stateVersion,
          tools: plan.compiled_session.contracts.map(({ tool }) => ({ name: tool })),
          ...body,
        },
      }),
    propose: (prepared_request_id, calls, body = {}) =>
      api.propose({
        params,
        body: { prepared_request_id, fence: session.fence, response: responseOf(calls), ...body },
      }),
    receipts: (receipts, fence = session.fence, next = undefined) =>
      api.submitReceipts({ params, body: { fence, receipts: [...receipts], ...(next && { next }) } }),
    decide: async (calls, body) => {
      const prepared = expectStatus(await session.preflight(), 200).body
      if (prepared.outcome !== 'prepared') throw new Error(`preflight was blocked: ${prepared.reason}`)
      return expectStatus(await session.propose(prepared.prepared_request_id, calls, body), 200).body
    },
    turn: async (calls) => {
      const { decisions } = await session.decide(calls)
      const receipts = succeeded(decisions)
      if (receipts.length === 0) return null
      const answer = expectStatus(await session.receipts(receipts), 200).body
      session.stateVersion = answer.state_version
      return answer
    },
    load: async () => expectStatus(await api.loadSession({ params, query: { include: 'pending' } }), 200).body,
  }
  return session
}

/** A normalized response of the model. */
export const responseOf = (calls: readonly ToolUse[]) => ({
  tool_calls: calls.map(({ name, args, id }, index) => ({
    id: id ?? `call_${index}`,
    name,
    arguments: JSON.stringify(args),
  })),
})

/** A receipt for an allowed call; by default it ran and succeeded. */
export function receiptFor(decision: Decision, given: Partial<Receipt> = {}): Receipt {
  if (decision.pending_call_id === null || decision.argument_hash === null) throw new Error('the call is not pending')
  return {
    pending_call_id: decision.pending_call_id,
    outcome: 'succeeded',
    evidence_level: 'executed',
    argument_hash: decision.argument_hash,
    result_hash: 'a'.repeat(64),
    started_at: '2026-01-01T00:00:00.000Z',
    finished_at: '2026-01-01T00:00:01.000Z',
    ...given,
  }
}

export const succeeded = (decisions: readonly Decision[]): Receipt[] =>
  decisions.filter((decision) => decision.pending_call_id !== null).map((decision) => receiptFor(decision))

export function expectStatus<Body>(answer: Answer<Body>, status: number): Answer<Body> {
  if (answer.status === status) return answer
  throw new Error(`answered ${answer.status}, not ${status}: ${JSON.stringify(answer.problem)}`)
}

export const LOOKUP: ToolUse = { name: 'lookup_order', args: { order_id: 'A-1' } }
export const refund = (amount: number, id?: string): ToolUse => ({
  name: 'issue_refund',
  args: { order_id: 'A-1', amount },
  ...(id === undefined ? {} : { id }),
})
export const reserve = (amount: number, id?: string): ToolUse => ({
  name: 'reserve',
  args: { amount },
  ...(id === undefined ? {} : { id }),
})
