import { randomUUID } from 'node:crypto'
import { pathOf, ROUTES } from '@countersign/protocol'
import { benchPlan, type Shares } from './bench-plan.js'
import { type HttpConnection, openConnection } from './http-connection.js'

export interface BenchSession {
  /** One governed cycle: preflight, proposal, receipt. Throws unless the step commits. */
  cycle(): Promise<void>
  close(): void
}

const plans = { none: benchPlan('none'), own: benchPlan('own'), hot: benchPlan('hot') }

/** A governed session over its own connection. */
export async function openBenchSession(url: string, key: string, shares: Shares = 'none'): Promise<BenchSession> {
  const { compiled_session, compiled_hash, tools } = plans[shares]
  const connection = await openConnection(url, key)
  const sessionId = randomUUID()
  const created = await post(connection, pathOf(ROUTES.createSession), 201, {
    session_id: sessionId,
    holder_id: 'bench',
    compiled_hash,
    compiled_session,
  })
  const { fence } = created
  const params = { session_id: sessionId }
  const paths = {
    preflight: pathOf(ROUTES.preflight, params),
    proposals: pathOf(ROUTES.propose, params),
    receipts: pathOf(ROUTES.submitReceipts, params),
  }
  const offered = tools.map((name) => ({ name }))
  const note = shares === 'none' ? '' : `,"note":"${shares === 'own' ? sessionId : 'hot'}"`
  let stateVersion = 0
  let made = 0
  const cycle = async () => {
    made += 1
    const id = `req-${made}`
    const request = { prepared_request_id: id, fence, state_version: stateVersion, tools: offered, model: 'gpt-4o' }
    await post(connection, paths.preflight, 200, request)
    const call = { id: `call_${made}`, name: 'tool_1', arguments: `{"order_id":"A-${made}","amount":12.5${note}}` }
    const response = { content: null, finish_reason: 'tool_calls', tool_calls: [call] }
    const usage = { input_tokens: 900, output_tokens: 60 }
    const proposal = { prepared_request_id: id, fence, response, model: 'gpt-4o', usage }
    const { decisions } = await post(connection, paths.proposals, 200, proposal)
    const { pending_call_id, argument_hash } = decisions[0]
    const receipt = {
      pending_call_id,
      argument_hash,
      outcome: 'succeeded',
      evidence_level: 'executed',
      result_hash: argument_hash,
      started_at: '2026-01-01T00:00:00.000Z',
      finished_at: '2026-01-01T00:00:00.100Z',
    }
    const { state_version } = await post(connection, paths.receipts, 200, { fence, receipts: [receipt] })
    if (state_version !== stateVersion + 1) throw new Error('a cycle did not commit its step')
    stateVersion = state_version
  }
  return { cycle, close: connection.close }
}

async function post(connection: HttpConnection, path: string, expected: number, body: unknown) {
  const answer = await connection.post(path, JSON.stringify(body))
  if (answer.status !== expected) throw new Error(`${path} answered ${answer.status}: ${answer.body}`)
  return JSON.parse(answer.body)
}

export interface Measured {
  cycles: number
  perSecond: number
  p50Ms: number
}

/** Runs the workers in parallel for a time and counts what they finish. */
export async function measure(workers: readonly (() => Promise<void>)[], seconds: number): Promise<Measured> {
  const times: number[] = []
  const startedAt = performance.now()
  const until = startedAt + seconds * 1_000
  await Promise.all(
    workers.map(async (work) => {
      for (let before = performance.now(); before < until; ) {
        await work()
        const after = performance.now()
        times.push(after - before)
        before = after
      }
    }),
  )
  const elapsed = (performance.now() - startedAt) / 1_000
  times.sort((a, b) => a - b)
  return {
    cycles: times.length,
    perSecond: times.length / elapsed,
    p50Ms: times[Math.floor(times.length / 2)] ?? Number.NaN,
  }
}
