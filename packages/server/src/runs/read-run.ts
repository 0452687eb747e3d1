import { hashPlan, planSizeProblem, saltedHash } from '@countersign/engine'
import { type CompiledSession, type Input, type JsonValue, ROUTES, type Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import { checked, readJson } from '../context/json-body.js'
import type { ReadRun } from '../context/tasks.js'

type Body = Input<Routes['createRun']>['body']

/** What a body that starts a run says. Fixtures and plan come out as text. */
export function readRun({ body: bytes, tenantId }: { readonly body: Uint8Array; readonly tenantId: string }): ReadRun {
  const route = ROUTES.createRun
  const body = checked(route.body, readJson(bytes), 'body') as Body
  const { against, plan, unmatched_policy: unmatchedPolicy } = body
  const compiledHash = 'compiled_hash' in plan ? plan.compiled_hash : hashPlan(plan.compiled_session)
  const content = { against, unmatchedPolicy, plan: compiledHash } as unknown as JsonValue
  return {
    runId: body.run_id,
    bodyHash: saltedHash(tenantId, content),
    compiledHash,
    compiled: 'compiled_hash' in plan ? null : planText(plan.compiled_session),
    unmatchedPolicy,
    against:
      'fixtures' in against
        ? { fixtures: JSON.stringify(against.fixtures) }
        : { agent: against.agent, since: against.since ?? null, maxSessions: against.max_sessions, unmatchedPolicy },
  }
}

/** A plan that came along may hold what the plan of a session may. */
function planText(plan: CompiledSession): string {
  const text = JSON.stringify(plan)
  const detail = planSizeProblem(text)
  if (detail !== null) throw new ApiError('PLAN_INVALID', { detail, problems: [detail] })
  return text
}
