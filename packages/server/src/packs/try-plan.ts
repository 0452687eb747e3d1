import { preparePlanInSteps, type Steps } from '@countersign/engine'
import type { CompiledSession } from '@countersign/protocol'
import { loadPolicyEvaluator } from '../base/policy.js'
import { timeStep } from '../base/work/processor-time.js'
import type { RefusedPlan } from '../context/plan-cache.js'

/** What one step may take. The main thread will do the same, and others wait meanwhile. */
const MOST_STEP_MS = 250

const TOO_LONG =
  `one of the plan's regular expressions, schemas or policies takes more than ${MOST_STEP_MS} ms to read: ` +
  'write it shorter, or as several'

/** Prepares a plan, given as JSON, to see whether the main thread can. Null where it can. */
export async function tryPlan(json: string): Promise<RefusedPlan | null> {
  const policy = await loadPolicyEvaluator()
  const startedAt = performance.now()
  const prepared = withinMsEach(preparePlanInSteps(JSON.parse(json) as CompiledSession, { policy }))
  if (prepared?.ok) return null
  return { ok: false, problems: prepared?.problems ?? [TOO_LONG], ms: performance.now() - startedAt }
}

/** Null as soon as one step had a processor for longer. */
export function withinMsEach<Result>(steps: Steps<Result>, mostMs = MOST_STEP_MS): Result | null {
  for (;;) {
    let tookMs = 0
    const step = timeStep(
      () => steps.next(),
      (ms) => {
        tookMs = ms
      },
    )
    if (tookMs > mostMs) return null
    if (step.done === true) return step.value
  }
}
