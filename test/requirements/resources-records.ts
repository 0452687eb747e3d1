import type { Fact } from './fact.js'

export const resourcesRecords = [
  {
    id: 'record.session.mode',
    behaviour: "A session's record shows mode AUTHORITATIVE",
    state: 'built',
  },
  {
    id: 'record.session.status',
    behaviour: "A running session's record shows status ACTIVE",
    state: 'built',
  },
  {
    id: 'record.session.state-version',
    behaviour: 'state_version in the record equals the number of committed steps',
    state: 'built',
  },
  {
    id: 'record.prepared-request.consumed-at',
    behaviour: "A prepared request's record is marked with the time of its use",
    state: 'built',
  },
  {
    id: 'record.pending-call.resolved',
    behaviour: "A pending call's record is resolved once its receipt is recorded",
    state: 'built',
  },
  {
    id: 'record.receipt',
    behaviour: 'Execution receipts are kept as records',
    state: 'built',
  },
  {
    id: 'record.workflow',
    behaviour: 'Workflows are kept as records',
    state: 'built',
  },
  {
    id: 'record.handoff',
    behaviour: 'Handoffs are kept as records',
    state: 'built',
  },
  {
    id: 'contract.tool',
    behaviour: 'A contract applies to the tool that it names, matched exactly',
    state: 'built',
  },
  {
    id: 'contract.output-invariants',
    behaviour: 'An output invariant compares the value at its path and blocks when the comparison fails',
    state: 'built',
  },
  {
    id: 'contract.phases',
    behaviour: 'A contract pack can declare phases',
    state: 'built',
  },
  {
    id: 'contract.transitions',
    behaviour: 'A contract pack can declare the moves between phases',
    state: 'built',
  },
  {
    id: 'contract.preconditions',
    behaviour: 'A contract can demand earlier tools before its own',
    state: 'built',
  },
  {
    id: 'contract.forbids-after',
    behaviour: 'A contract can forbid tools after its own has been called',
    state: 'built',
  },
  {
    id: 'contract.policy',
    behaviour: 'A contract can carry a policy on who may call',
    state: 'built',
  },
  {
    id: 'contract.execution-constraints',
    behaviour: 'A contract can constrain arguments right before execution',
    state: 'built',
  },
  {
    id: 'contract.checkpoints',
    behaviour: 'A contract can ask for a human checkpoint',
    state: 'built',
  },
  {
    id: 'contract.risk-defaults',
    behaviour: 'A contract pack can set what happens by class of side effect',
    state: 'built',
  },
  {
    id: 'contract.side-effect',
    behaviour: "A contract can classify the tool's side effect",
    state: 'built',
  },
  {
    id: 'contract.label-gates',
    behaviour: 'A contract can deny its tool under given labels',
    state: 'built',
  },
  {
    id: 'contract.aggregates',
    behaviour: 'A contract can bound an aggregate over the session',
    state: 'built',
  },
  {
    id: 'contract.envelopes',
    behaviour: 'A contract can hold a value within an established reference value',
    state: 'built',
  },
  {
    id: 'contract.refs',
    behaviour: 'A contract can require a value equal to one bound earlier',
    state: 'built',
  },
  {
    id: 'capture.metadata.tool-names',
    behaviour: 'A metadata capture keeps tool names',
    state: 'built',
  },
  {
    id: 'capture.metadata.nothing-else',
    behaviour: 'A metadata capture keeps no arguments, messages or content',
    state: 'built',
  },
  {
    id: 'capture.redacted.names-and-arguments',
    behaviour: 'A redacted capture keeps tool names and arguments',
    state: 'built',
  },
  {
    id: 'capture.redacted.nothing-else',
    behaviour: 'A redacted capture keeps no messages or content',
    state: 'built',
  },
  {
    id: 'capture.redacted.default',
    behaviour: 'Captures are redacted unless another level is chosen',
    state: 'built',
  },
  {
    id: 'capture.full.everything',
    behaviour: 'A full capture keeps tool names, arguments, messages and content',
    state: 'built',
  },
] as const satisfies readonly Fact[]
