import type { BodyReaders, Handlers } from '../context/context.js'
import { ingestCaptures, readCapturesBody } from './ingest-captures.js'
import { listCaptures } from './list-captures.js'

/** What was observed of agents. */
export const captureHandlers = { ingestCaptures, listCaptures } satisfies Partial<Handlers>

export const captureReaders = { ingestCaptures: readCapturesBody } satisfies Partial<BodyReaders>
