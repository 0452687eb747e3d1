import type { RouteName } from '@countersign/protocol'
import { capturesOf } from '../data/captures.js'
import { responseOf } from './governed-session.js'
import { HELP_DESK, planOf } from './plans.js'

const plan = planOf(HELP_DESK)
const hash = 'a'.repeat(64)
const pack = {
  agent: 'support',
  environment: 'staging',
  files: [{ file: 'lookup_order.yaml', text: 'tool: lookup_order\nside_effect: read\n' }],
}

/** A body that each route under /api/v1/ takes: what a test changes one thing in. */
export const VALID_BODIES: Readonly<Partial<Record<RouteName, unknown>>> = {
  createSession: { session_id: 'ses-valid', holder_id: 'holder-1', compiled_session: plan.compiled_session },
  findSession: { agent: 'support', environment: 'production', ids: ['call-valid'] },
  pinTools: {
    agent: 'support',
    environment: 'production',
    server: 'shop',
    tools: [{ name: 'look', definition: { name: 'look' } }],
  },
  endSession: { fence: 1 },
  withdrawQuestion: { fence: 1 },
  claimCall: { fence: 1, claim_id: 'clm-valid', pending_call_id: 'call-valid', argument_hash: hash },
  preflight: {
    prepared_request_id: 'req-valid',
    fence: 1,
    state_version: 0,
    tools: [{ name: 'lookup_order' }],
    request: { '$.model': 'gpt-4o' },
  },
  propose: { prepared_request_id: 'req-valid', fence: 1, response: responseOf([]) },
  submitReceipts: {
    fence: 1,
    receipts: [
      {
        pending_call_id: 'call-valid',
        outcome: 'succeeded',
        evidence_level: 'executed',
        argument_hash: hash,
        result_hash: hash,
        started_at: '2026-01-01T00:00:00.000Z',
        finished_at: '2026-01-01T00:00:01.000Z',
        outputs: { '$.a': 1 },
      },
    ],
  },
  addLabel: { label: 'tainted' },
  setToolFilter: { fence: 1, tools: ['lookup_order'] },
  reportBypass: { method: 'create' },
  killSession: { reason: 'enough' },
  recoverSession: { holder_id: 'holder-2' },
  offerHandoff: { handoff_id: 'hand-valid', fence: 1, to_role: 'helper' },
  completeHandoff: { session_id: 'ses-valid', fence: 1 },
  reclaimHandoff: { session_id: 'ses-valid', fence: 1 },
  killWorkflow: {},
  stopAgent: { agent: 'nobody', reason: 'why', all: true },
  submitPlan: pack,
  diffPlan: pack,
  ingestCaptures: { captures: capturesOf('support', 'look', [{ name: 'lookup_order', args: { order_id: 'A-1' } }]) },
  createRun: {
    run_id: 'run-valid',
    plan: { compiled_session: plan.compiled_session },
    against: { fixtures: [{ name: 'one', turns: [{ calls: [{ name: 'lookup_order', arguments: {} }] }] }] },
    unmatched_policy: 'block',
  },
}

/** The same for routes of the dashboard that name something in their path. */
export const PERSONS_BODIES: Readonly<Partial<Record<RouteName, unknown>>> = {
  answerQuestion: { card_hash: hash, decision: 'approve' },
  editPlan: { files: pack.files, files_hash: hash },
  approvePlan: { why: 'it is right' },
  rejectPlan: { why: 'it is wrong' },
  revokeKey: {},
  killSessionByPerson: { reason: 'enough' },
  killWorkflowByPerson: { reason: 'enough' },
  addLabelByPerson: { label: 'tainted' },
  changeMember: { role: 'viewer' },
  changeWebhook: { disabled: true },
}
