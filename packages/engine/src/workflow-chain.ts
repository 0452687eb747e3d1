import {
  type ChainedWorkflowEvent,
  type JsonValue,
  type LedgerHead,
  WORKFLOW_EVENTS,
  type WorkflowEvent,
  type WorkflowLedgerExport,
} from '@countersign/protocol'
import { canonicalJson } from './canonical-json.js'
import { type ChainCheck, GENESIS_HASH } from './chain.js'
import { sha256Hex } from './hash.js'
import { impossibleEvent } from './workflow-history.js'

/** Puts an event behind the head of its workflow's chain. */
export function chainWorkflowEvent(
  prev: LedgerHead | null,
  workflowId: string,
  event: WorkflowEvent,
): ChainedWorkflowEvent {
  const content = {
    workflow_id: workflowId,
    seq: (prev?.seq ?? 0) + 1,
    type: event.type,
    at: event.at,
    body: event.body as unknown as ChainedWorkflowEvent['body'],
    prev_hash: prev?.hash ?? GENESIS_HASH,
  }
  return { ...content, hash: hashOf(content) }
}

/** Checks numbers, hashes and shapes from the first event on, and the head where one is known from elsewhere. */
export function verifyWorkflowChain(events: readonly ChainedWorkflowEvent[], head?: LedgerHead): ChainCheck {
  let prev: LedgerHead | null = null
  for (const event of events) {
    const seq: number = (prev?.seq ?? 0) + 1
    const problem = problemOf(event, { seq, prevHash: prev?.hash ?? GENESIS_HASH, workflowId: events[0]?.workflow_id })
    if (problem !== null) return { ok: false, brokenAt: seq, problem }
    prev = { seq: event.seq, hash: event.hash }
  }
  if (head !== undefined && (prev?.seq !== head.seq || prev.hash !== head.hash)) {
    const problem = `the chain ends at ${prev?.seq ?? 0}, and its head is known to be ${head.seq}`
    return { ok: false, brokenAt: Math.min((prev?.seq ?? 0) + 1, head.seq), problem }
  }
  return { ok: true, head: prev }
}

/**
 * Checks a whole export offline: that it is of the workflow it names, the chain, and that what it tells can have
 * happened: one winner for each handoff, no two holds that exclude each other, nothing allowed after a kill.
 */
export function verifyWorkflowExport(
  exported: Pick<WorkflowLedgerExport, 'workflow_id' | 'events' | 'head'>,
): ChainCheck {
  const { events, head } = exported
  const chain = verifyWorkflowChain(events, head)
  if (!chain.ok) return chain
  if (events[0]?.workflow_id !== exported.workflow_id)
    return { ok: false, brokenAt: 1, problem: 'the event belongs to another workflow' }
  const impossible = impossibleEvent(events as unknown as WorkflowEvent[])
  return impossible === null ? chain : { ok: false, brokenAt: impossible.at + 1, problem: impossible.problem }
}

function problemOf(
  event: ChainedWorkflowEvent,
  expected: { seq: number; prevHash: string; workflowId: string | undefined },
): string | null {
  if (event.seq !== expected.seq) return `event ${expected.seq} is missing: ${event.seq} follows ${expected.seq - 1}`
  if (event.workflow_id !== expected.workflowId) return 'the event belongs to another workflow'
  if (event.prev_hash !== expected.prevHash) return 'prev_hash is not the hash of the event before'
  const { hash, ...content } = event
  if (hash !== hashOf(content)) return 'the content does not have its hash'
  if (!Object.hasOwn(WORKFLOW_EVENTS, event.type)) return `the type "${event.type}" is not known`
  return WORKFLOW_EVENTS[event.type].safeParse(event.body).success ? null : `the body is not one of "${event.type}"`
}

const hashOf = (content: Omit<ChainedWorkflowEvent, 'hash'>): string =>
  sha256Hex(canonicalJson(content as unknown as JsonValue))
