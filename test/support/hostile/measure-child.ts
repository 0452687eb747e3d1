// A process of its own that prepares and judges one request at a time, so that one that never ends can be ended.
import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import {
  compilePlan,
  createPolicyEvaluator,
  evaluateProposal,
  initialState,
  preparePlan,
  readResponse,
} from '@countersign/engine'
import { createdEvent } from '../data/created-event.js'
import { FAMILIES } from './families.js'
import { bytesOf, type Genes, type HostileRequest, responseOf } from './request.js'

export interface Question {
  readonly family: string
  readonly genes: Genes
}

export interface Measured {
  readonly bytes: number
  /**
   * Milliseconds of preparing the plan, of reading the response or of judging it, whichever takes longest. Of processor
   * time, so that a busy machine finds about the same as an idle one.
   */
  readonly longestMs: number
  /** Why the plan cannot be used. */
  readonly refused: string | null
}

const policy = createPolicyEvaluator(cedar)

function processorMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

function build({ family, genes }: Question): HostileRequest {
  const built = FAMILIES.find(({ name }) => name === family)?.build(genes)
  if (built === undefined) throw new Error(`no family ${family}`)
  return built
}

function measure(request: HostileRequest): Measured {
  const bytes = bytesOf(request)
  const compiled = compilePlan({
    contracts: request.contracts.map((value) => ({ file: `${value.tool}.yaml`, value })),
    session: { file: 'session.yaml', value: request.session ?? {} },
  })
  if (!compiled.ok) return { bytes, longestMs: 0, refused: compiled.errors[0]?.message ?? 'refused' }
  const prepared = timed(() => preparePlan(compiled.compiled_session, { policy }))
  if (!prepared.value.ok) return { bytes, longestMs: prepared.ms, refused: prepared.value.problems[0] ?? 'refused' }
  const { plan } = prepared.value
  const state = initialState(plan, createdEvent(plan.hash, { has_principal: request.principal !== undefined }))
  const read = timed(() => readResponse(responseOf(request)))
  const judged = timed(() =>
    evaluateProposal({
      plan,
      state,
      response: read.value,
      gate: 'reject_all',
      unmatchedPolicy: 'block',
      principal: request.principal,
      agent: null,
      salt: 'salt',
      nowMs: 0,
      offered: null,
      toolless: false,
      flows: request.flows,
      ids: { sessionId: 's', proposalId: 'p', pendingCallId: String },
    }),
  )
  return { bytes, longestMs: Math.max(prepared.ms, read.ms, judged.ms), refused: null }
}

function timed<Result>(work: () => Result): { value: Result; ms: number } {
  const before = processorMs()
  const value = work()
  return { value, ms: processorMs() - before }
}

// As a service does when it starts: the first policy of a process takes a third of a second.
measure(build({ family: 'policies', genes: { policy: 1, value: 0, terms: 1, size: 1, calls: 1 } }))

process.on('message', (question: Question) => {
  process.send?.(measure(build(question)))
})
