import { randomUUID } from 'node:crypto'
import {
  compilePlan,
  createSharedMemory,
  evaluateProposal,
  initialState,
  narrowTools,
  type Plan,
  readResponse,
} from '@countersign/engine'
import { BLOCK_REASON_NAMES, type PlaygroundView } from '@countersign/protocol'
import { loadPolicyEvaluator } from '../base/policy.js'
import type { Playground } from '../context/tasks.js'

/** Judges a pasted response against a pasted pack, as the first proposal of a new session. */
export async function judgePlayground({ body, now }: Playground): Promise<PlaygroundView> {
  const session = body.session === undefined ? undefined : { file: 'session.yaml', text: body.session }
  const compiled = compilePlan({ contracts: body.contracts, session }, { policy: await loadPolicyEvaluator() })
  if (!compiled.ok) {
    return {
      ok: false,
      errors: compiled.errors.map(noteView),
      warnings: [],
      compiled_hash: null,
      narrowing: null,
      calls: [],
    }
  }
  return {
    ok: true,
    errors: [],
    warnings: firstWarnings(compiled.warnings),
    compiled_hash: compiled.compiled_hash,
    ...judge(compiled.plan, { body, now }),
  }
}

type Note = PlaygroundView['errors'][number]
const noteView = ({ file, line, message, fix }: Note): Note => ({ file, line, message, fix })

const MOST_WARNINGS = 100

/** As many as a person reads, and how many more there are. */
function firstWarnings(warnings: readonly Note[]): Note[] {
  const listed = warnings.slice(0, MOST_WARNINGS).map(noteView)
  const next = warnings[MOST_WARNINGS]
  if (next === undefined) return listed
  const message = `from here on ${warnings.length - MOST_WARNINGS} more warnings are not listed`
  return [...listed, { file: next.file, line: next.line, message, fix: 'look at those that are listed first' }]
}

type Judged = Pick<PlaygroundView, 'narrowing' | 'calls'>

function judge(plan: Plan, { body, now }: Playground): Judged {
  const response = readResponse(body.response)
  const state = initialState(plan, {
    type: 'created',
    at: now.toISOString(),
    body: {
      agent: null,
      environment: null,
      holder_id: 'playground',
      compiled_hash: plan.hash,
      plan_source: 'client',
      unmatched_policy: body.unmatched_policy,
      capture_level: 'metadata',
      labels: body.labels,
      has_principal: body.principal !== undefined,
      initial_phase: null,
      fence: 1,
      workflow: null,
    },
  })
  const nowMs = now.getTime()
  // Nothing is used yet of limits that sessions share.
  const party = { principal: body.principal, agent: null, workflowId: 'playground' }
  const shared = plan.shared === null ? undefined : createSharedMemory().counts(party)
  const asked = {
    plan,
    state,
    unmatchedPolicy: body.unmatched_policy,
    principal: body.principal,
    agent: null,
    nowMs,
    shared,
  }
  const names = new Set([...plan.contracts.keys(), ...response.calls.map(({ name }) => name)])
  const { decisions } = evaluateProposal({
    ...asked,
    response,
    gate: 'strip_partial',
    salt: randomUUID(),
    offered: null,
    toolless: false,
    ids: { sessionId: 'playground', proposalId: 'playground', pendingCallId: String },
  })
  const narrowing = narrowTools({ ...asked, tools: [...names].map((name) => ({ name })) })
  return {
    narrowing,
    calls: decisions.map((decision) => ({
      call_id: decision.call_id,
      tool_name: decision.tool_name,
      decision: decision.decision,
      ladder: BLOCK_REASON_NAMES.map((reason) => ({
        reason,
        applies: decision.reasons.some((block) => block.reason === reason),
      })),
      reasons: decision.reasons,
      checkpoints: decision.checkpoints.map(({ reason }) => reason),
    })),
  }
}
