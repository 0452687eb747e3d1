import { randomUUID } from 'node:crypto'
import type { Receipt } from '@countersign/protocol'
import fc from 'fast-check'
import { expect } from 'vitest'
import { ALL_TOOLS, receiptFor, type ToolUse } from '../../runtime/governed-session.js'
import {
  BUDGET,
  command,
  type Model,
  type ModelCall,
  type ModelRequest,
  type Real,
  refusalOf,
  waiting,
} from './model.js'

export const preflights = fc
  .record({ client: fc.nat(1), tools: fc.boolean(), fenceOff: off(), versionOff: off(), repeat: fc.boolean() })
  .map((given) =>
    command(`preflight ${JSON.stringify(given)}`, async (model, { clients }) => {
      const session = clients[given.client] ?? clients[0]
      const fence = model.fence + given.fenceOff
      const body = {
        prepared_request_id: randomUUID(),
        fence,
        state_version: Math.max(0, model.version + given.versionOff),
        ...(given.tools ? {} : { tools: [] }),
      }
      const isStale = body.state_version !== model.version
      const expected =
        refusalOf(model, fence) ??
        (model.status === 'RECOVERING' ? 'SESSION_RECOVERING' : null) ??
        (isStale ? 'STATE_STALE' : null) ??
        (given.tools && waiting(model).length > 0 ? 'PENDING_CALLS' : null)
      const answer = await session.preflight(body)
      expect(answer.status === 200 ? null : answer.problem.code).toBe(expected)
      if (expected !== null) return
      const request: ModelRequest = {
        id: body.prepared_request_id,
        version: model.version,
        control: model.control,
        fence: model.fence,
        withTools: given.tools,
        isUsed: false,
      }
      model.requests.push(request)
      if (given.tools) model.current = request.id
      expect(answer.body).toMatchObject({
        outcome: 'prepared',
        bound: { state_version: model.version, control_revision: model.control, fence: model.fence },
      })
      if (given.repeat) expect((await session.preflight(body)).body).toEqual(answer.body)
    }),
  )

const tool = fc.oneof(
  fc.record({ name: fc.constant('reserve'), amount: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ name: fc.constantFrom('send_mail', 'lookup_order', 'no_such_tool'), amount: fc.constant(0) }),
)

export const proposals = fc
  .record({
    client: fc.nat(1),
    calls: fc.array(tool, { maxLength: 3 }),
    gate: fc.constantFrom('reject_all' as const, 'strip_partial' as const),
    which: weighted({ newest: 6, older: 4, unknown: 1 }),
    pick: fc.nat(20),
    fenceOff: off(),
  })
  .map((given) =>
    command(`propose ${JSON.stringify(given)}`, async (model, { clients }) => {
      const session = clients[given.client] ?? clients[0]
      const request = requestFor(model, given.which, given.pick)
      const fence = model.fence + given.fenceOff
      const calls = given.calls.map(useOf)
      const body = { fence, gate: given.gate }
      const answer = await session.propose(request?.id ?? randomUUID(), calls, body)
      const expected = proposalRefusal(model, request, fence)
      expect(answer.status === 200 ? null : answer.problem.code).toBe(expected)
      if (expected !== null || request === undefined) return
      request.isUsed = true
      model.accepted.push({ id: request.id, calls, body, reply: answer.body })
      if (request.withTools) model.current = null
      model.justRecovered = false
      const verdicts = judge(model, request, given.calls)
      expect(answer.body.decisions.map(({ decision }) => decision)).toEqual(verdicts)
      const registers = given.gate === 'reject_all' ? !verdicts.includes('block') : true
      const registered = answer.body.decisions.flatMap((decision, index): ModelCall[] => {
        const isRegistered = registers && verdicts[index] === 'allow'
        expect(decision.pending_call_id !== null).toBe(isRegistered)
        const { name, amount } = given.calls[index] ?? { name: '', amount: 0 }
        return isRegistered ? [{ decision, tool: name, amount, isResolved: false }] : []
      })
      if (registered.length === 0) return
      model.open = { calls: registered, succeeded: false }
      model.calls.push(...registered)
      for (const call of registered) model.reserved += call.amount
    }),
  )

/** An accepted proposal is sent again, as if its answer had been lost; perhaps long after. */
export const retries = fc.record({ client: fc.nat(1), back: weighted({ 0: 6, 1: 2, 2: 1 }) }).map((given) =>
  command(`propose again ${JSON.stringify(given)}`, async (model, { clients }) => {
    const session = clients[given.client] ?? clients[0]
    const accepted = model.accepted.at(-1 - Number(given.back))
    if (accepted === undefined) return
    const { id, calls, body, reply } = accepted
    const { ledger } = await session.load()
    const { problem } = await session.propose(id, calls, body)
    expect(problem.code).toBe(refusalOf(model, body.fence) ?? 'PREPARED_REQUEST_CONSUMED')
    const isHolder = model.status === 'ACTIVE' && body.fence === model.fence
    const ids = new Set(reply.decisions.map((decision) => decision.pending_call_id))
    const isWaiting = waiting(model).some(({ decision }) => ids.has(decision.pending_call_id))
    const isLast = ledger.seq === reply.ledger.seq
    const { proposal_id, outcome, decisions } = reply
    if (isHolder && (isWaiting || isLast)) expect(problem.proposal).toMatchObject({ proposal_id, outcome, decisions })
    else expect(problem).not.toHaveProperty('proposal')
  }),
)

function requestFor(model: Model, which: string, pick: number): ModelRequest | undefined {
  if (which === 'unknown') return undefined
  return which === 'newest' ? model.requests.at(-1) : model.requests.at(-2 - (pick % 2))
}

const useOf = ({ name, amount }: { name: string; amount: number }, index: number): ToolUse => ({
  name,
  id: `c${index}`,
  args: ARGUMENTS[name]?.(amount) ?? {},
})
const ARGUMENTS: Record<string, (amount: number) => ToolUse['args']> = {
  reserve: (amount) => ({ amount }),
  send_mail: () => ({ to: 'a@example.test' }),
  lookup_order: () => ({ order_id: 'A-1' }),
}

function proposalRefusal(model: Model, request: ModelRequest | undefined, fence: number): string | null {
  if (request === undefined) return 'NOT_FOUND'
  const stopped = refusalOf(model, model.fence)
  if (stopped !== null) return stopped
  if (fence !== model.fence) return 'FENCE_STALE'
  if (request.isUsed) return 'PREPARED_REQUEST_CONSUMED'
  if (model.status === 'RECOVERING') return 'SESSION_RECOVERING'
  const isCurrent =
    request.version === model.version && request.control === model.control && request.fence === model.fence
  if (!isCurrent || (request.withTools && model.current !== request.id)) return 'PREPARED_REQUEST_STALE'
  return request.withTools && waiting(model).length > 0 ? 'PENDING_CALLS' : null
}

function judge(model: Model, request: ModelRequest, calls: readonly { name: string; amount: number }[]) {
  let reserved = model.reserved
  return calls.map(({ name, amount }) => {
    const isKnown = name !== 'no_such_tool' && request.withTools
    const isOffered = model.filter === null || model.filter.includes(name)
    if (!isKnown || !isOffered || reserved + amount > BUDGET) return 'block'
    reserved += amount
    return 'allow'
  })
}

export const receipts = fc
  .record({
    client: fc.nat(1),
    what: weighted({ all: 14, one: 8, repeat: 4, conflict: 3, unknown: 2, changed: 1 }),
    pick: fc.nat(20),
    outcome: fc.constantFrom(
      'succeeded' as const,
      'succeeded' as const,
      'failed' as const,
      'not_executed' as const,
      'unknown' as const,
    ),
    level: fc.constantFrom('executed' as const, 'executed' as const, 'reported' as const),
    isOldFence: fc.boolean(),
    next: fc.boolean(),
  })
  .map((given) =>
    command(`receipts ${JSON.stringify(given)}`, async (model, real) => {
      const session = real.clients[given.client] ?? real.clients[0]
      const chosen = chooseCalls(model, given.what, given.pick)
      if (chosen.length === 0) return
      const fence = given.isOldFence && model.fence > 1 ? model.fence - 1 : model.fence
      const sent = chosen.map((call) => receiptOf(model, call, given))
      const id = randomUUID()
      const next = given.next ? { prepared_request_id: id, tools: ALL_TOOLS } : undefined
      const answer = await session.receipts(sent, fence, next)
      if (given.what === 'unknown') {
        expect(answer.status).toBe(404)
        return
      }
      settle(model, sent, fence, answer)
      // Not while the plan is new to the server; otherwise where a preflight would.
      const prepared = answer.status === 200 ? answer.body.next : null
      if (prepared === null) return
      expect([refusalOf(model, fence), model.status, waiting(model)]).toEqual([null, 'ACTIVE', []])
      const { version, control } = model
      expect(prepared.bound).toEqual({ state_version: version, control_revision: control, fence })
      model.requests.push({ id, version, control, fence, withTools: true, isUsed: false })
      model.current = id
    }),
  )

function chooseCalls(model: Model, what: string, pick: number): ModelCall[] {
  const open = waiting(model)
  const at = <T>(items: readonly T[]): T[] => {
    const item = items[pick % Math.max(1, items.length)]
    return item === undefined ? [] : [item]
  }
  if (what === 'all') return open
  if (what === 'one' || what === 'changed') return at(open)
  if (what === 'unknown') return at(model.calls)
  return at(model.calls.filter((call) => model.receipts.has(call.decision.pending_call_id ?? '')))
}

function receiptOf(
  model: Model,
  { decision }: ModelCall,
  given: { what: string; outcome: Receipt['outcome']; level: Receipt['evidence_level'] },
): Receipt {
  const stored = model.receipts.get(decision.pending_call_id ?? '')
  if (given.what === 'repeat' && stored !== undefined) return stored
  const receipt = receiptFor(decision, { outcome: given.outcome, evidence_level: given.level })
  if (given.what === 'unknown') return { ...receipt, pending_call_id: 'call-unknown' }
  if (given.what === 'changed') return { ...receipt, argument_hash: 'f'.repeat(64) }
  return given.what === 'conflict' ? { ...receipt, error_code: 'another story' } : receipt
}

type ReceiptsAnswer = Awaited<ReturnType<Real['clients'][0]['receipts']>>

/** What the batch must have done, by the table of effects. */
function settle(model: Model, sent: readonly Receipt[], fence: number, answer: ReceiptsAnswer): void {
  const isLate = fence !== model.fence
  const isRepeated = (receipt: Receipt) =>
    JSON.stringify(model.receipts.get(receipt.pending_call_id)) === JSON.stringify(receipt)
  const fresh = sent.filter((receipt) => !isRepeated(receipt))
  const contradicts = fresh.some((receipt) => model.receipts.has(receipt.pending_call_id))
  if (contradicts && !isLate) {
    expect([answer.status, answer.problem.code]).toEqual([409, 'RECEIPT_CONFLICT'])
    return
  }
  const wasChanged = sent.some((receipt) => isRepeated(receipt) && changedArguments(model, receipt))
  if (isLate || fresh.length === 0) {
    if (fresh.length > 0) model.justRecovered = false
    expect(answer.status).toBe(wasChanged ? 409 : 200)
    if (!wasChanged) expect(answer.body.state_version).toBe(model.version)
    return
  }
  model.justRecovered = false
  const isStopped = model.status === 'KILLED' || model.status === 'COMPROMISED'
  let isChanged = false
  for (const receipt of fresh) {
    model.receipts.set(receipt.pending_call_id, receipt)
    isChanged = resolve(model, receipt) || isChanged
  }
  const commits = waiting(model).length === 0 && model.open?.succeeded === true && !isStopped && !isChanged
  if (waiting(model).length === 0) {
    model.open = null
    if (model.status === 'RECOVERING') model.status = 'ACTIVE'
  }
  if (commits) model.version += 1
  if (isChanged && !isStopped) {
    model.status = 'COMPROMISED'
    model.control += 1
  }
  if (isChanged || wasChanged) expect([answer.status, answer.problem.code]).toEqual([409, 'ARGUMENTS_CHANGED'])
  else {
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ committed: commits, state_version: model.version, status: model.status })
  }
}

/** True when the tool ran with other arguments than allowed. */
function resolve(model: Model, receipt: Receipt): boolean {
  const call = model.open?.calls.find(({ decision }) => decision.pending_call_id === receipt.pending_call_id)
  if (call === undefined || model.open === null) throw new Error('the model resolves a call that is not open')
  call.isResolved = true
  if (changedArguments(model, receipt)) return true
  const rollsBack = call.tool === 'reserve'
  if (receipt.outcome === 'not_executed' || (receipt.outcome === 'failed' && rollsBack)) model.reserved -= call.amount
  const needsProof = call.tool !== 'lookup_order'
  if (receipt.outcome === 'succeeded' && (receipt.evidence_level === 'executed' || !needsProof))
    model.open.succeeded = true
  return false
}

function changedArguments(model: Model, receipt: Receipt): boolean {
  const call = model.calls.find(({ decision }) => decision.pending_call_id === receipt.pending_call_id)
  return call?.decision.argument_hash !== receipt.argument_hash
}

function weighted<Name extends string>(weights: Record<Name, number>) {
  const entries = Object.entries(weights) as [Name, number][]
  return fc.oneof(...entries.map(([name, weight]) => ({ arbitrary: fc.constant(name), weight })))
}

/** Mostly right, sometimes one off. */
export function off() {
  return fc.constantFrom(0, 0, 0, 0, 0, 0, 0, -1, 1)
}
