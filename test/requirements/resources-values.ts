import type { Fact } from './fact.js'

export const resourcesValues = [
  {
    id: 'approval-request.checkpoint-id',
    behaviour: 'The approval request names the checkpoint by a string id',
    state: 'built',
  },
  {
    id: 'approval-request.session-id',
    behaviour: 'The approval request names the session',
    state: 'built',
  },
  {
    id: 'approval-request.tool-name',
    behaviour: 'The approval request names the tool',
    state: 'built',
  },
  {
    id: 'approval-request.arguments',
    behaviour: "The approval request holds the call's arguments",
    state: 'built',
  },
  {
    id: 'approval-request.context',
    behaviour: 'The approval request holds a list of label and value pairs as context',
    state: 'built',
  },
  {
    id: 'approval-request.reason',
    behaviour: 'The approval request says why approval is asked',
    state: 'built',
  },
  {
    id: 'approval-request.timeout-seconds',
    behaviour: 'The approval request says how many seconds there are to answer',
    state: 'built',
  },
  {
    id: 'approval-request.requested-at',
    behaviour: 'The approval request says when it was made',
    state: 'built',
  },
  {
    id: 'approval-response.checkpoint-id',
    behaviour: 'An answer that names another checkpoint does not approve',
    state: 'built',
  },
  {
    id: 'approval-response.decision',
    behaviour: 'An answer decides by approve or deny and by no other word',
    state: 'built',
  },
  {
    id: 'approval-response.decided-by',
    behaviour: 'The answer says who decided',
    state: 'built',
  },
  {
    id: 'approval-response.decided-at',
    behaviour: 'The answer says when it was decided',
    state: 'built',
  },
  {
    id: 'approval-response.reason',
    behaviour: 'The answer may give a reason and may leave it out',
    state: 'built',
  },
  {
    id: 'narrow-result.allowed',
    behaviour: 'allowed holds the definitions of the tools that remain',
    state: 'built',
  },
  {
    id: 'narrow-result.removed',
    behaviour: 'removed holds an entry for each tool that was taken away',
    state: 'built',
  },
  {
    id: 'narrowed-tool.tool',
    behaviour: 'An entry in removed names its tool',
    state: 'built',
  },
  {
    id: 'narrowed-tool.wrong-phase',
    behaviour: 'A tool that the current phase does not admit is removed as wrong_phase',
    state: 'built',
  },
  {
    id: 'narrowed-tool.precondition-not-met',
    behaviour: 'A tool whose precondition is open is removed as precondition_not_met',
    state: 'built',
  },
  {
    id: 'narrowed-tool.forbidden-in-state',
    behaviour: 'A tool that an earlier call forbade is removed as forbidden_in_state',
    state: 'built',
  },
  {
    id: 'narrowed-tool.no-contract',
    behaviour: 'A tool without a contract is removed as no_contract',
    state: 'built',
  },
  {
    id: 'narrowed-tool.policy-denied',
    behaviour: 'A tool that policy denies is removed as policy_denied',
    state: 'built',
  },
  {
    id: 'narrowed-tool.manual-filter',
    behaviour: 'A tool outside the manual filter is removed as manual_filter',
    state: 'built',
  },
  {
    id: 'narrowed-tool.label-gate',
    behaviour: 'A tool that a label denies is removed as label_gate',
    state: 'built',
  },
  {
    id: 'narrowed-tool.detail',
    behaviour: 'An entry in removed may carry a detail',
    state: 'built',
  },
  {
    id: 'narrowed-tool.contract-file',
    behaviour: "An entry in removed may name the contract's file",
    state: 'built',
  },
  {
    id: 'validation-result.pass',
    behaviour: 'pass is true when every contract holds and false otherwise',
    state: 'built',
  },
  {
    id: 'validation-result.failures',
    behaviour: 'failures lists every contract failure',
    state: 'built',
  },
  {
    id: 'validation-result.matched-contracts',
    behaviour: 'matched_contracts is the number of contracts that applied',
    state: 'built',
  },
  {
    id: 'validation-result.unmatched-tools',
    behaviour: 'unmatched_tools names the called tools that have no contract',
    state: 'built',
  },
  {
    id: 'validation-result.evaluation-ms',
    behaviour: 'evaluation_ms is the time the evaluation took',
    state: 'built',
  },
  {
    id: 'contract-failure.path',
    behaviour: 'A failure gives the JSON path of the offending value, call index included',
    state: 'built',
  },
  {
    id: 'contract-failure.operator',
    behaviour: 'A failure names the operator that did not hold',
    state: 'built',
  },
  {
    id: 'contract-failure.expected',
    behaviour: 'A failure shows what was expected',
    state: 'built',
  },
  {
    id: 'contract-failure.found',
    behaviour: 'A failure shows what was found',
    state: 'built',
  },
  {
    id: 'contract-failure.message',
    behaviour: 'A failure may carry a message',
    state: 'built',
  },
  {
    id: 'contract-failure.contract-file',
    behaviour: "A failure may name the contract's file",
    state: 'built',
  },
  {
    id: 'plan-lookup.status',
    behaviour: "The lookup's result carries the plan's status",
    state: 'built',
  },
  {
    id: 'plan-lookup.compiled-session',
    behaviour: "The lookup's result carries compiled_session once a plan is approved",
    state: 'built',
  },
  {
    id: 'plan-lookup.compiled-hash',
    behaviour: "The lookup's result carries compiled_hash once a plan is approved",
    state: 'built',
  },
  {
    id: 'plan-lookup.metadata',
    behaviour: "The lookup's result carries what is known of the draft and of the approved plan",
    state: 'built',
  },
] as const satisfies readonly Fact[]
