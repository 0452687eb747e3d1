import type { BodyReaders, Handlers } from '../context/context.js'
import { ingestCaptures } from './ingest-captures.js'
import { listCaptures } from './list-captures.js'
import { readCaptures } from './read-captures.js'

/** What was observed of agents. */
export const captureHandlers = { ingestCaptures, listCaptures } satisfies Partial<Handlers>

export const captureReaders = { ingestCaptures: readCaptures } satisfies Partial<BodyReaders>
