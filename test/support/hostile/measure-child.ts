// A process of its own that prepares and judges one request at a time, so that one that never ends can be ended.
import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import {
  compilePlan,
  createPolicyEvaluator,
  evaluateProposalInSteps,
  initialState,
  preparePlanInSteps,
  readResponseInSteps,
  type Steps,
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
   * Milliseconds of the longest step of preparing the plan, reading the response and judging it; of judging as a whole
   * where the response is small, because the server may judge that in one piece. Of processor time, so that a busy
   * machine finds about the same as an idle one.
   */
  readonly stepMs: number
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
  if (!compiled.ok) return { bytes, stepMs: 0, refused: compiled.errors[0]?.message ?? 'refused' }
  const prepared = inSteps(preparePlanInSteps(compiled.compiled_session, { policy }))
  if (!prepared.value.ok) {
    return { bytes, stepMs: prepared.longestMs, refused: prepared.value.problems[0] ?? 'refused' }
  }
  const { plan } = prepared.value
  const state = initialState(plan, createdEvent(plan.hash, { has_principal: request.principal !== undefined }))
  const read = inSteps(readResponseInSteps(responseOf(request)))
  const judged = inSteps(
    evaluateProposalInSteps({
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
  const isSmall = JSON.stringify(responseOf(request)).length <= SMALL_RESPONSE_BYTES
  const judgedMs = isSmall ? judged.allMs : judged.longestMs
  return { bytes, stepMs: Math.max(prepared.longestMs, read.longestMs, judgedMs), refused: null }
}

/** Above it the server does everything in steps. */
const SMALL_RESPONSE_BYTES = 32 * 1024

/** As the server does it, with other requests between the steps. */
function inSteps<Result>(steps: Steps<Result>): { value: Result; longestMs: number; allMs: number } {
  let longestMs = 0
  let allMs = 0
  for (;;) {
    const before = processorMs()
    const step = steps.next()
    const ms = processorMs() - before
    longestMs = Math.max(longestMs, ms)
    allMs += ms
    if (step.done === true) return { value: step.value, longestMs, allMs }
  }
}

// As a service does when it starts: the first policy of a process takes a third of a second.
measure(build({ family: 'policies', genes: { policy: 1, value: 0, terms: 1, size: 1, calls: 1 } }))

process.on('message', (question: Question) => {
  process.send?.(measure(build(question)))
})
