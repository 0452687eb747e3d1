import type { Fact } from './fact.js'

export const whatTheServiceDoes = [
  {
    id: 'turn.durable-state',
    behaviour: "A session's state survives a restart of the server unchanged",
    state: 'built',
  },
  {
    id: 'turn.cycle',
    behaviour: 'One governed model call makes a preflight, then a proposal, then receipts, in that order',
    state: 'built',
  },
  {
    id: 'turn.server-decides',
    behaviour: "In govern the verdict on each proposed call is the server's, whatever the client thinks",
    state: 'built',
  },
  {
    id: 'turn.preflight.binds-version',
    behaviour: 'Preflight ties the request to the state version the session has at that moment',
    state: 'built',
  },
  {
    id: 'turn.preflight.prepared-id',
    behaviour: 'A successful preflight hands back the id of a prepared request that can be used once',
    state: 'built',
  },
  {
    id: 'turn.preflight.stale-rejected',
    behaviour: 'A preflight that carries an old state version is refused and the model is not called',
    state: 'built',
  },
  {
    id: 'turn.preflight.invalid-rejected',
    behaviour: 'A preflight on a session that may no longer write is refused and the model is not called',
    state: 'built',
  },
  {
    id: 'turn.proposal.carries-response',
    behaviour: "A proposal takes the model's response and finds the tool calls in it",
    state: 'built',
  },
  {
    id: 'turn.proposal.judges-state-and-contracts',
    behaviour: "Proposed calls are judged by the session's state together with its contracts",
    state: 'built',
  },
  {
    id: 'turn.proposal.registers-atomically',
    behaviour: 'The allowed calls of a proposal become pending together or not at all',
    state: 'built',
  },
  {
    id: 'turn.proposal.returns-decisions',
    behaviour: 'The answer to a proposal says allow or block for every proposed call',
    state: 'built',
  },
  {
    id: 'turn.proposal.no-advance',
    behaviour: 'A proposal on its own leaves the state version where it was',
    state: 'built',
  },
  {
    id: 'turn.receipt.records-outcome',
    behaviour: 'A receipt stores the outcome of the pending call that it names',
    state: 'built',
  },
  {
    id: 'turn.receipt.advances-on-commit',
    behaviour: 'The state version rises when the evidence meets the commit requirement',
    state: 'built',
  },
  {
    id: 'turn.receipt.weak-evidence',
    behaviour: 'Evidence below the commit requirement is kept and the state version stays',
    state: 'built',
  },
  {
    id: 'turn.receipt.argument-hash',
    behaviour: 'A receipt keeps the hash of the arguments that the wrapped tool ran with',
    state: 'built',
  },
  {
    id: 'turn.receipt.durable',
    behaviour: 'An acknowledged receipt is still there after the server is killed and started again',
    state: 'built',
  },
  {
    id: 'turn.prepared-request.single-use',
    behaviour: 'A prepared request serves one proposal; every repetition is refused',
    state: 'built',
  },
  {
    id: 'turn.prepared-request.bound-to-state',
    behaviour: "A proposal is refused when the session's state moved after its preflight",
    state: 'built',
  },
  {
    id: 'control.labels',
    behaviour: 'A session takes further labels while it runs',
    state: 'built',
  },
  {
    id: 'control.tool-filter',
    behaviour: 'A session takes a manual tool filter',
    state: 'built',
  },
  {
    id: 'control.bypass-report',
    behaviour: 'A session takes the report that its wrapper was bypassed',
    state: 'built',
  },
  {
    id: 'control.kill',
    behaviour: 'A session can be stopped for good',
    state: 'built',
  },
  {
    id: 'control.recover',
    behaviour: 'A session that lost its client can be taken up again',
    state: 'built',
  },
  {
    id: 'control.labels.held-by-server',
    behaviour: 'A client that drops its labels locally still meets them at the next preflight',
    state: 'built',
  },
  {
    id: 'control.kill.held-by-server',
    behaviour: 'A client that forgets the kill is still refused by the server',
    state: 'built',
  },
  {
    id: 'workflow.shared-state',
    behaviour: 'Sessions of one workflow see one shared workflow state',
    state: 'built',
  },
  {
    id: 'workflow.handoffs',
    behaviour: 'Work can be handed from one session and role to another',
    state: 'built',
  },
  {
    id: 'workflow.kill',
    behaviour: 'Killing a workflow stops every session in it',
    state: 'built',
  },
  {
    id: 'workflow.resource-conflicts',
    behaviour: 'Two sessions of a workflow cannot hold conflicting claims on one resource',
    state: 'built',
  },
  {
    id: 'workflow.durable-status',
    behaviour: "A workflow's status survives a restart of the server",
    state: 'built',
  },
  {
    id: 'workflow.only-when-enabled',
    behaviour: 'Without workflow governance the workflow operations are not on offer and sessions work alone',
    state: 'built',
  },
  {
    id: 'plan.lookup.says-approved',
    behaviour: 'The lookup tells whether an approved compiled plan exists for an agent and environment',
    state: 'built',
  },
  {
    id: 'plan.zero-config',
    behaviour: 'A client with an API key and no contracts attaches the approved plan and is governed by it',
    state: 'built',
  },
  {
    id: 'capture.batch-ingestion',
    behaviour: 'The service takes observed tool calls in batches',
    state: 'built',
  },
  {
    id: 'learn.generates-contracts',
    behaviour: 'Captured calls lead to contracts without anybody writing them',
    state: 'built',
  },
  {
    id: 'learn.scores-confidence',
    behaviour: 'Every generated contract carries a confidence',
    state: 'built',
  },
  {
    id: 'learn.dashboard-coverage',
    behaviour: 'The dashboard shows the coverage of contracts',
    state: 'built',
  },
  {
    id: 'learn.dashboard-pass-rate',
    behaviour: 'The dashboard shows pass rates',
    state: 'built',
  },
  {
    id: 'account.api-keys',
    behaviour: 'An account can make, list and revoke API keys',
    state: 'built',
  },
  {
    id: 'account.dashboard-sessions',
    behaviour: 'A person can sign in to the dashboard and out again',
    state: 'built',
  },
  {
    id: 'account.password-reset',
    behaviour: 'A forgotten password can be replaced through a mailed link',
    state: 'built',
  },
  {
    id: 'account.email-verification',
    behaviour: 'An account can prove its e-mail address through a mailed link',
    state: 'built',
  },
  {
    id: 'checkpoint.client-callback',
    behaviour: 'A human checkpoint is asked through the callback given to the client',
    state: 'built',
  },
  {
    id: 'checkpoint.no-approval-endpoint',
    behaviour: 'No route of the runtime API can approve a proposal',
    state: 'built',
  },
  {
    id: 'protection.monitor',
    behaviour: 'At level monitor calls are watched and none is blocked',
    state: 'built',
  },
  {
    id: 'protection.protect',
    behaviour: 'At level protect calls are blocked locally and no durable record is written',
    state: 'built',
  },
  {
    id: 'protection.govern',
    behaviour: 'At level govern the server judges and keeps durable records',
    state: 'built',
  },
  {
    id: 'protection.govern-needs-key',
    behaviour: 'Without an API key the level never becomes govern',
    state: 'built',
  },
  {
    id: 'protection.govern-needs-tools',
    behaviour: 'Without tool wrappers the level never becomes govern',
    state: 'built',
  },
] as const satisfies readonly Fact[]
