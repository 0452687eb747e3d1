import type { Handlers } from '../../context.js'
import { ingestCaptures } from './ingest-captures.js'

/** What was observed of agents. */
export const captureHandlers = { ingestCaptures } satisfies Partial<Handlers>
