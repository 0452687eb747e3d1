import type { Fact } from './fact.js'

export const errors = [
  {
    id: 'error.email-not-verified',
    behaviour: "An unverified account's /api/v1/ request is answered 403 with code EMAIL_NOT_VERIFIED",
    state: 'built',
  },
  {
    id: 'error.forgot-password-ok',
    behaviour: 'forgot-password answers 200 for any address',
    state: 'built',
  },
  {
    id: 'error.proposal-stale',
    behaviour: 'A proposal with a stale prepared request is rejected',
    state: 'built',
  },
  {
    id: 'error.proposal-consumed',
    behaviour: 'A proposal with a consumed prepared request is rejected',
    state: 'built',
  },
  {
    id: 'error.invalid-label',
    behaviour: 'A request with an invalid label is rejected',
    state: 'built',
  },
  {
    id: 'error.contract.reject-all',
    behaviour: 'ReplayContractError is thrown for a block under reject_all',
    state: 'built',
  },
  {
    id: 'error.contract.strip-partial',
    behaviour: 'ReplayContractError is thrown when strip_partial has nothing left',
    state: 'built',
  },
  {
    id: 'error.contract.decision',
    behaviour: 'ReplayContractError carries the full decision with the blocked calls',
    state: 'built',
  },
  {
    id: 'error.contract.contract-file',
    behaviour: 'ReplayContractError carries contractFile',
    state: 'built',
  },
  {
    id: 'error.contract.failures',
    behaviour: 'ReplayContractError carries the contract failures',
    state: 'built',
  },
  {
    id: 'error.kill',
    behaviour: 'ReplayKillError is thrown by any create call after a kill',
    state: 'built',
  },
  {
    id: 'error.config',
    behaviour: 'ReplayConfigError is thrown for invalid configuration at initialization and carries its condition',
    state: 'built',
  },
  {
    id: 'error.config.policy-without-principal',
    behaviour: 'condition is policy_without_principal for a policy without a principal',
    state: 'built',
  },
  {
    id: 'error.config.constraints-without-wrapper',
    behaviour: 'condition is constraints_without_wrapper for execution constraints on a tool outside the tools map',
    state: 'built',
  },
  {
    id: 'error.config.compilation-failed.circular',
    behaviour: 'condition is compilation_failed for circular transitions',
    state: 'built',
  },
  {
    id: 'error.config.compilation-failed.unreachable',
    behaviour: 'condition is compilation_failed for unreachable phases',
    state: 'built',
  },
  {
    id: 'error.config.compilation-failed.observed',
    behaviour: 'condition is compilation_failed when observe is already active on the client',
    state: 'built',
  },
  {
    id: 'error.config.compilation-failed.attached',
    behaviour: 'condition is compilation_failed when another session is attached to the client',
    state: 'built',
  },
  {
    id: 'error.config.provider-incompatible',
    behaviour: 'condition is provider_incompatible for a matching block_incompatible pattern',
    state: 'built',
  },
  {
    id: 'error.rule.server-failure-blocks',
    behaviour: 'Under onError block a server failure blocks the call',
    state: 'built',
  },
  {
    id: 'error.rule.retries',
    behaviour: 'With maxRetries the client tries again after contract failures, five times at most',
    state: 'built',
  },
  {
    id: 'error.rule.validate-unmatched',
    behaviour: 'validate under deny yields one failure for each call without a contract',
    state: 'built',
  },
] as const satisfies readonly Fact[]
