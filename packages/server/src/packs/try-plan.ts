import { preparePlanInSteps, type Steps } from '@countersign/engine'
import type { CompiledSession } from '@countersign/protocol'
import { loadPolicyEvaluator } from '../base/policy.js'
import { processorMs } from '../base/work/processor-time.js'
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
  const prepared = withinMsEach(preparePlanInSteps(JSON.parse(json) as CompiledSession, { policy }), MOST_STEP_MS)
  if (prepared?.ok) return null
  return { ok: false, problems: prepared?.problems ?? [TOO_LONG], ms: performance.now() - startedAt }
}

/** Looking at the processor's time takes as long as ten steps: it is done after so much time by the clock. */
const LOOK_MS = 20

/** Null as soon as a step took more time of the processor than it may, with what was done since the last look. */
export function withinMsEach<Result>(steps: Steps<Result>, mostMs: number): Result | null {
  let lookedAt = performance.now()
  let hadMs = processorMs()
  for (;;) {
    const step = steps.next()
    if (performance.now() - lookedAt > LOOK_MS) {
      const nowMs = processorMs()
      if (nowMs - hadMs > mostMs) return null
      hadMs = nowMs
      lookedAt = performance.now()
    }
    if (step.done === true) return step.value
  }
}
