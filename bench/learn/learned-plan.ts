import { compilePlan, draftContracts, type Plan } from '@countersign/engine'
import { DataError, type Suite } from './dataset.js'
import { learn, type ObservedSession, SALT } from './observe.js'

/** Every rule blocks; every rule asks; or what the product drafts: it measures itself, blocks, asks, or stays silent. */
export type Mode = 'block' | 'ask' | 'questions'

/** What was learned from the sessions, compiled as it would be for approval. */
export function learnedPlan(suite: Suite, sessions: readonly ObservedSession[], mode: Mode, _alpha = 0.1): Plan {
  const otherwise = mode === 'block' ? 'block' : 'ask'
  const drafts = draftContracts(learn(sessions), { salt: SALT, otherwise, offered: suite.tools })
  const compiled = compilePlan({
    contracts: drafts.map(({ contract }) => ({ file: `${contract.tool}.json`, value: contract })),
  })
  if (!compiled.ok) throw new DataError(`what was learned does not compile: ${JSON.stringify(compiled.errors[0])}`)
  return compiled.plan
}
