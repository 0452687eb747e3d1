// A process of its own that prepares and judges one request at a time, so that one that never ends can be ended.
import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import {
  compilePlan,
  createPolicyEvaluator,
  evaluateProposal,
  initialState,
  preparePlanInSteps,
  readResponse,
} from '@countersign/engine'
import { createdEvent } from '../data/created-event.js'
import { FAMILIES } from './families.js'
import { bytesOf, type Genes, type HostileRequest, responseOf } from './request.js'

export interface Question {
  readonly family: string
  readonly genes: Genes
}

/**
 * Milliseconds of one synchronous piece: the longest step of preparing the plan, and judging the response. Of processor
 * time, so that a busy machine finds the same as an idle one.
 */
export interface Measured {
  readonly bytes: number
  readonly stepMs: number
  readonly prepareMs: number
  readonly judgeMs: number
  /** Why the plan cannot be used. */
  readonly refused: string | null
}

const policy = createPolicyEvaluator(cedar)

function processorMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

process.on('message', ({ family, genes }: Question) => {
  const built = FAMILIES.find(({ name }) => name === family)?.build(genes)
  if (built === undefined) throw new Error(`no family ${family}`)
  process.send?.(measure(built))
})

function measure(request: HostileRequest): Measured {
  const bytes = bytesOf(request)
  const compiled = compilePlan({
    contracts: request.contracts.map((value) => ({ file: `${value.tool}.yaml`, value })),
    session: { file: 'session.yaml', value: request.session ?? {} },
  })
  if (!compiled.ok)
    return { bytes, stepMs: 0, prepareMs: 0, judgeMs: 0, refused: compiled.errors[0]?.message ?? 'refused' }
  const steps = preparePlanInSteps(compiled.compiled_session, { policy })
  let stepMs = 0
  let prepareMs = 0
  for (;;) {
    const before = processorMs()
    const step = steps.next()
    const ms = processorMs() - before
    stepMs = Math.max(stepMs, ms)
    prepareMs += ms
    if (step.done !== true) continue
    if (!step.value.ok) return { bytes, stepMs, prepareMs, judgeMs: 0, refused: step.value.problems[0] ?? 'refused' }
    const { plan } = step.value
    const state = initialState(plan, createdEvent(plan.hash, { has_principal: request.principal !== undefined }))
    const start = processorMs()
    evaluateProposal({
      plan,
      state,
      response: readResponse(responseOf(request)),
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
    })
    return { bytes, stepMs, prepareMs, judgeMs: processorMs() - start, refused: null }
  }
}
