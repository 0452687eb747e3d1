import type { Fact } from './fact.js'

export const endpoints = [
  {
    id: 'endpoint.session-create',
    behaviour: 'POST /api/v1/replay/sessions creates an authoritative session',
    state: 'built',
  },
  {
    id: 'endpoint.session-create.workflow-root',
    behaviour: 'A session can be created as the root of a workflow',
    state: 'built',
  },
  {
    id: 'endpoint.session-create.workflow-child',
    behaviour: 'A session can be created as a child in a workflow',
    state: 'built',
  },
  {
    id: 'endpoint.session-create.labels',
    behaviour: 'A session can be created with labels',
    state: 'built',
  },
  {
    id: 'endpoint.session-get',
    behaviour: "GET /api/v1/replay/sessions/{session_id} returns the session's runtime view",
    state: 'built',
  },
  {
    id: 'endpoint.session-get.pending',
    behaviour: 'The session view holds the pending calls when they are asked for',
    state: 'built',
  },
  {
    id: 'endpoint.session-get.pending-on-request',
    behaviour: 'The session view leaves the pending calls out when they are not asked for',
    state: 'built',
  },
  {
    id: 'endpoint.preflight',
    behaviour: 'POST …/preflight prepares a request bound to the current state version',
    state: 'built',
  },
  {
    id: 'endpoint.preflight.prepared-request-id',
    behaviour: "The preflight's answer has a prepared_request_id",
    state: 'built',
  },
  {
    id: 'endpoint.preflight.rejects',
    behaviour: 'POST …/preflight rejects stale and invalid writes',
    state: 'built',
  },
  {
    id: 'endpoint.preflight.narrowing',
    behaviour: "The preflight's answer has the narrowing result, label-gated tools removed",
    state: 'built',
  },
  {
    id: 'endpoint.proposals',
    behaviour: "POST …/proposals judges the model's response and returns the decisions",
    state: 'built',
  },
  {
    id: 'endpoint.proposals.pending',
    behaviour: 'POST …/proposals registers allowed calls as pending',
    state: 'built',
  },
  {
    id: 'endpoint.receipts',
    behaviour: 'POST …/receipts records the outcome of a pending call',
    state: 'built',
  },
  {
    id: 'endpoint.receipts.advances',
    behaviour: 'POST …/receipts advances the state when the commit requirement is met',
    state: 'built',
  },
  {
    id: 'endpoint.labels',
    behaviour: 'POST …/labels appends a label',
    state: 'built',
  },
  {
    id: 'endpoint.labels.request',
    behaviour: 'The labels request is an object with the string label',
    state: 'built',
  },
  {
    id: 'endpoint.labels.response',
    behaviour: "The labels answer holds the session's full list of labels",
    state: 'built',
  },
  {
    id: 'endpoint.labels.non-empty',
    behaviour: 'An empty label is refused',
    state: 'built',
  },
  {
    id: 'endpoint.labels.length',
    behaviour: 'A label of 128 characters is taken and one of 129 refused',
    state: 'built',
  },
  {
    id: 'endpoint.labels.characters',
    behaviour: 'A label holds letters, digits, hyphens and underscores and nothing else',
    state: 'built',
  },
  {
    id: 'endpoint.labels.duplicate',
    behaviour: 'A label that is there already is accepted again and appears once',
    state: 'built',
  },
  {
    id: 'endpoint.tool-filter',
    behaviour: 'POST …/tool-filter sets the manual tool filter',
    state: 'built',
  },
  {
    id: 'endpoint.report-bypass',
    behaviour: 'POST …/report-bypass records that the wrapper was bypassed',
    state: 'built',
  },
  {
    id: 'endpoint.kill',
    behaviour: 'POST …/kill kills the session',
    state: 'built',
  },
  {
    id: 'endpoint.recover',
    behaviour: 'POST …/recover recovers a recoverable session',
    state: 'built',
  },
  {
    id: 'endpoint.no-checkpoint-approval',
    behaviour: 'There is no approve route under proposals',
    state: 'built',
  },
  {
    id: 'endpoint.no-label-removal',
    behaviour: 'DELETE on the labels path does not exist',
    state: 'built',
  },
  {
    id: 'endpoint.workflow-get',
    behaviour: "GET /api/v1/replay/workflows/{workflow_id} returns the workflow's state",
    state: 'built',
  },
  {
    id: 'endpoint.handoff-offer',
    behaviour: 'POST …/handoffs under a session offers a handoff',
    state: 'built',
  },
  {
    id: 'endpoint.handoff-complete',
    behaviour: 'POST …/handoffs/{handoff_id}/complete completes a handoff',
    state: 'built',
  },
  {
    id: 'endpoint.handoff-reclaim',
    behaviour: 'POST …/handoffs/{handoff_id}/reclaim takes an eligible handoff back',
    state: 'built',
  },
  {
    id: 'endpoint.handoff-reclaim.eligible',
    behaviour: 'A handoff that is not eligible cannot be reclaimed',
    state: 'built',
  },
  {
    id: 'endpoint.workflow-kill',
    behaviour: 'POST …/kill under a workflow kills the workflow',
    state: 'built',
  },
  {
    id: 'endpoint.plan',
    behaviour: "GET /api/v1/governance/plan answers with the plan's status",
    state: 'built',
  },
  {
    id: 'endpoint.plan.query',
    behaviour: 'The plan lookup takes agent and environment as query strings',
    state: 'built',
  },
  {
    id: 'endpoint.plan.approved',
    behaviour: 'The plan lookup answers with compiled_session and compiled_hash when a plan is approved',
    state: 'built',
  },
  {
    id: 'endpoint.plan.metadata',
    behaviour: 'The plan lookup answers with metadata of draft and approved plans',
    state: 'built',
  },
  {
    id: 'endpoint.captures',
    behaviour: 'POST /api/v1/captures takes a batch of captures',
    state: 'built',
  },
  {
    id: 'endpoint.runs',
    behaviour: 'POST /api/v1/runs starts a run',
    state: 'built',
  },
  {
    id: 'endpoint.runs.budget',
    behaviour: "Runs are limited by the tenant's monthly budget",
    state: 'built',
  },
  {
    id: 'endpoint.signup',
    behaviour: 'POST /api/auth/signup creates an account',
    state: 'built',
  },
  {
    id: 'endpoint.signup.mail',
    behaviour: 'POST /api/auth/signup sets off a verification mail',
    state: 'built',
  },
  {
    id: 'endpoint.forgot-password',
    behaviour: 'POST /api/auth/forgot-password takes a request for a reset',
    state: 'built',
  },
  {
    id: 'endpoint.forgot-password.always-ok',
    behaviour: 'POST /api/auth/forgot-password answers 200 for known and unknown addresses alike',
    state: 'built',
  },
] as const satisfies readonly Fact[]
