import {
  type ChainedWorkflowEvent,
  type LedgerHead,
  WORKFLOW_EVENTS,
  type WorkflowEvent,
  type WorkflowLedgerExport,
} from '@countersign/protocol'
import { type ChainCheck, GENESIS_HASH, hashOf, type LinkRules, verifyLinks } from './verify-links.js'
import { impossibleEvent } from './workflow-history.js'

/** Appends an event to its workflow's chain. */
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

const WORKFLOW_LINKS: LinkRules<ChainedWorkflowEvent> = {
  owner: 'workflow',
  ownerOf: ({ workflow_id }) => workflow_id,
  shapes: WORKFLOW_EVENTS,
}

/** Checks sequence numbers, hashes and shapes from the first event on, and the head if it is known from elsewhere. */
export const verifyWorkflowChain = (events: readonly ChainedWorkflowEvent[], head?: LedgerHead): ChainCheck =>
  verifyLinks(events, WORKFLOW_LINKS, head)

/**
 * Verifies a whole export offline: that it belongs to the workflow it names, the chain, and that its history is
 * possible: one winner for each handoff, no two conflicting holds, nothing allowed after a kill.
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
