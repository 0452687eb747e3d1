import {
  compilePlan,
  draftContracts,
  learnPlan,
  type ObservedSession,
  type Plan,
  summariesOf,
} from '@countersign/engine'
import { DataError, type Suite } from './dataset.js'
import { SALT } from './observe.js'

/** Every rule blocks; every rule asks; or what the product drafts: it measures itself, blocks, asks, or stays silent. */
export type Mode = 'block' | 'ask' | 'questions'

/** What was learned from the sessions, compiled as it would be for approval. */
export function learnedPlan(suite: Suite, sessions: readonly ObservedSession[], mode: Mode, alpha = 0.1): Plan {
  const summaries = summariesOf(sessions, SALT)
  const options = { salt: SALT, offered: suite.tools }
  const { drafts, session } =
    mode === 'questions'
      ? learnPlan(summaries, sessions, { ...options, alpha })
      : { drafts: draftContracts(summaries, { ...options, otherwise: mode }), session: {} }
  const compiled = compilePlan({
    contracts: drafts.map(({ contract }) => ({ file: `${contract.tool}.json`, value: contract })),
    session: { file: 'session.yaml', value: session },
  })
  if (!compiled.ok) throw new DataError(`what was learned does not compile: ${JSON.stringify(compiled.errors[0])}`)
  return compiled.plan
}
