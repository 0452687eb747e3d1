import { createIssuerKeys } from '../../../packages/server/src/accounts/principals/issuer-keys.js'
import { ApiError } from '../../../packages/server/src/base/api-error.js'
import { createMemories } from '../../../packages/server/src/base/memories.js'
import { createOfferedMemory } from '../../../packages/server/src/captures/offered-memory.js'
import type { Isolation } from '../../../packages/server/src/context/isolation.js'
import { createPlanCache } from '../../../packages/server/src/context/plan-cache.js'
import { answerIsolated } from '../../../packages/server/src/process/isolated-runtime.js'
import { type IsolationParts, takeOver } from '../../../packages/server/src/process/isolation.js'
import { ledgerSignerOf } from '../../../packages/server/src/process/ledger-signer.js'

/** Answers what is not answered in place as a thread does, without one: on the test's own clock and database. */
export function isolateHere(parts: IsolationParts): Isolation {
  const memories = createMemories()
  const plans = createPlanCache(memories.cache('plans'))
  const { config, database, log, thread, clock, random } = parts
  // No more than a thread has.
  const app = {
    ...{ config, database, log, memories, thread, clock, random },
    offeredTools: createOfferedMemory(memories.cache('offered_tools')),
    ledgerSigner: ledgerSignerOf(parts.config),
    issuerKeys: createIssuerKeys(parts, memories.cache('issuer_keys')),
  }
  return {
    answer: async (request) => {
      const reply = await answerIsolated(app, plans, request)
      // At once, so that what follows is answered in place.
      for (const used of reply.plans) await parts.plans.take(used)
      takeOver(parts, request.tenant.tenantId, { ...reply, plans: [] })
      if ('body' in reply.outcome) return Buffer.from(reply.outcome.body)
      const { code, extras, headers } = reply.outcome.refusal
      throw new ApiError(code, extras, headers)
    },
    warm: () => {},
    close: async () => {},
  }
}
