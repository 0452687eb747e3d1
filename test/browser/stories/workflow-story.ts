import type { Answer, Routes } from '@countersign/protocol'
import { before, hashOf } from './session-story.js'

/** A case that triage handed on to billing and logistics, with a review offered. */
export function workflowDetail(
  now: Date,
  { workflowId, root, killed }: { workflowId: string; root: string; killed: boolean },
): Answer<Routes['loadWorkflowDetail']> {
  const status = killed ? ('KILLED' as const) : ('ACTIVE' as const)
  const session = (session_id: string, role: string, handoff_id: string | null) => ({
    session_id,
    role,
    status,
    labels: [],
    tools: null,
    handoff_id,
  })
  const handoff = {
    from_role: 'triage',
    to_role: 'billing',
    labels: ['untrusted_input'],
    offered_at: before(now, 3_000),
    expires_at: before(now, -600),
    settled_at: null,
  }
  return {
    workflow_id: workflowId,
    status,
    created_at: before(now, 4_000),
    labels: ['untrusted_input', 'vip'],
    definition: {
      name: 'refund-case',
      roles: { triage: { root: true, agent: 'support' }, billing: { agent: 'billing-ops' }, logistics: {}, review: {} },
      handoffs: [
        { from: 'triage', to: 'billing' },
        { from: 'triage', to: 'logistics' },
        { from: 'billing', to: 'review' },
        { from: 'logistics', to: 'review' },
      ],
    },
    sessions: [
      session(root, 'triage', null),
      session('ses_b81f', 'billing', 'hnd_1'),
      session('ses_d70e', 'billing', 'hnd_3'),
      session('ses_10fd', 'logistics', 'hnd_2'),
    ],
    handoffs: [
      {
        ...handoff,
        handoff_id: 'hnd_1',
        from_session: root,
        to_session: 'ses_b81f',
        state: 'completed',
        tools: ['issue_refund', 'lookup_order'],
        note: 'Refund of 240 agreed with the customer.',
      },
      {
        ...handoff,
        handoff_id: 'hnd_2',
        to_role: 'logistics',
        from_session: root,
        to_session: 'ses_10fd',
        state: 'accepted',
        tools: ['track_parcel'],
        note: null,
      },
      {
        ...handoff,
        handoff_id: 'hnd_4',
        from_role: 'billing',
        to_role: 'review',
        from_session: 'ses_b81f',
        to_session: null,
        state: 'offered',
        tools: null,
        note: 'Please look at the second refund.',
      },
    ],
    resources: killed
      ? []
      : [{ key: 'order:A-1042', mode: 'exclusive', session_id: 'ses_b81f', pending_call_id: 'pend_1', ends_at: null }],
    ledger: { seq: 9, hash: hashOf('workflow') },
  }
}
