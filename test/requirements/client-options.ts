import type { Fact } from './fact.js'

export const clientOptions = [
  {
    id: 'option.contracts',
    behaviour: 'contracts takes one contract or an array of loaded contracts',
    state: 'built',
  },
  {
    id: 'option.contracts-dir',
    behaviour: 'contractsDir names a folder whose contracts are loaded by themselves',
    state: 'built',
  },
  {
    id: 'option.session-yaml-path',
    behaviour: 'sessionYamlPath names the session definition to use',
    state: 'built',
  },
  {
    id: 'option.session-yaml-path.auto',
    behaviour: 'Without sessionYamlPath the session definition is found by itself',
    state: 'built',
  },
  {
    id: 'option.agent',
    behaviour: 'agent names the agent',
    state: 'built',
  },
  {
    id: 'option.session-id',
    behaviour: 'sessionId names the session',
    state: 'built',
  },
  {
    id: 'option.session-id.auto',
    behaviour: 'Without sessionId a fresh id is made',
    state: 'built',
  },
  {
    id: 'option.mode.default',
    behaviour: 'mode is enforce when not given',
    state: 'built',
  },
  {
    id: 'option.mode.enforce',
    behaviour: 'mode enforce runs the whole pipeline, blocks and captures',
    state: 'built',
  },
  {
    id: 'option.mode.shadow',
    behaviour: 'mode shadow runs the whole pipeline, blocks nothing, records what it would have done and captures',
    state: 'built',
  },
  {
    id: 'option.mode.log-only',
    behaviour: 'mode log-only judges nothing, blocks nothing and captures',
    state: 'built',
  },
  {
    id: 'option.gate.default',
    behaviour: 'gate is reject_all when not given',
    state: 'built',
  },
  {
    id: 'option.gate.reject-all',
    behaviour: 'gate reject_all throws ReplayContractError when one call is blocked',
    state: 'built',
  },
  {
    id: 'option.gate.strip-partial',
    behaviour: 'gate strip_partial drops the blocked calls and throws when none is left',
    state: 'built',
  },
  {
    id: 'option.gate.strip-blocked',
    behaviour: 'gate strip_blocked drops the blocked calls and answers with text alone when none is left',
    state: 'built',
  },
  {
    id: 'option.on-error.default',
    behaviour: 'onError is block when not given',
    state: 'built',
  },
  {
    id: 'option.on-error.block',
    behaviour: 'onError block refuses the call when the server fails',
    state: 'built',
  },
  {
    id: 'option.on-error.allow',
    behaviour: 'onError allow goes on under local enforcement when the server fails',
    state: 'built',
  },
  {
    id: 'option.unmatched-policy.default',
    behaviour: 'unmatchedPolicy is block when not given',
    state: 'built',
  },
  {
    id: 'option.unmatched-policy.block',
    behaviour: 'unmatchedPolicy block refuses calls of tools without a contract',
    state: 'built',
  },
  {
    id: 'option.unmatched-policy.allow',
    behaviour: 'unmatchedPolicy allow lets calls of tools without a contract pass',
    state: 'built',
  },
  {
    id: 'option.compat-enforcement.default',
    behaviour: 'compatEnforcement is protective when not given',
    state: 'built',
  },
  {
    id: 'option.compat-enforcement.only-compat',
    behaviour: 'compatEnforcement has no effect under an authoritative server',
    state: 'built',
  },
  {
    id: 'option.compat-enforcement.protective',
    behaviour: 'compatEnforcement protective blocks illegal calls locally',
    state: 'built',
  },
  {
    id: 'option.compat-enforcement.advisory',
    behaviour: 'compatEnforcement advisory judges and emits diagnostics without blocking',
    state: 'built',
  },
  {
    id: 'option.max-retries.default',
    behaviour: 'maxRetries is 0 when not given',
    state: 'built',
  },
  {
    id: 'option.max-retries.maximum',
    behaviour: 'maxRetries above 5 is refused',
    state: 'built',
  },
  {
    id: 'option.max-retries.retries',
    behaviour: 'maxRetries above 0 calls the model again after a contract failure',
    state: 'built',
  },
  {
    id: 'option.max-unguarded-calls.default',
    behaviour: 'maxUnguardedCalls is 3 when not given',
    state: 'built',
  },
  {
    id: 'option.max-unguarded-calls.only-allow',
    behaviour: 'maxUnguardedCalls has no effect under onError block',
    state: 'built',
  },
  {
    id: 'option.max-unguarded-calls.kills',
    behaviour: 'One unguarded call more than maxUnguardedCalls kills the session',
    state: 'built',
  },
  {
    id: 'option.narrowing-feedback.default',
    behaviour: 'narrowingFeedback is silent when not given',
    state: 'built',
  },
  {
    id: 'option.narrowing-feedback.silent',
    behaviour: 'narrowingFeedback silent removes tools and says nothing to the model',
    state: 'built',
  },
  {
    id: 'option.narrowing-feedback.metadata',
    behaviour: 'narrowingFeedback metadata shows narrowing through the state and narrowing accessors alone',
    state: 'built',
  },
  {
    id: 'option.narrowing-feedback.inject',
    behaviour: 'narrowingFeedback inject puts a system message first that names removed tools and reasons',
    state: 'built',
  },
  {
    id: 'option.narrowing-feedback.inject-restricted',
    behaviour: 'The injected message says restricted where policy denied',
    state: 'built',
  },
  {
    id: 'option.provider-constraints.block',
    behaviour: 'A matching block_incompatible pattern makes initialization throw with provider_incompatible',
    state: 'built',
  },
  {
    id: 'option.provider-constraints.warn',
    behaviour: 'A matching warn_incompatible pattern emits replay_provider_warning and blocks nothing',
    state: 'built',
  },
  {
    id: 'option.principal',
    behaviour: 'principal is the identity that policies judge',
    state: 'built',
  },
  {
    id: 'option.tools',
    behaviour: 'tools maps tool names to executors that the session wraps',
    state: 'built',
  },
  {
    id: 'option.api-key',
    behaviour: 'apiKey enables govern',
    state: 'built',
  },
  {
    id: 'option.runtime-url',
    behaviour: 'runtimeUrl is the address of the server that the client calls',
    state: 'built',
  },
  {
    id: 'option.runtime-url.default',
    behaviour: "Without runtimeUrl the service's base address is used",
    state: 'built',
  },
  {
    id: 'option.environment',
    behaviour: 'environment is development, staging or production and steers an attached plan',
    state: 'built',
  },
  {
    id: 'option.environment.development',
    behaviour: 'In development an approved plan is watched in shadow and blocks nothing',
    state: 'built',
  },
  {
    id: 'option.environment.staging',
    behaviour: 'In staging an approved plan is enforced with advisory compatibility',
    state: 'built',
  },
  {
    id: 'option.environment.production',
    behaviour: 'In production an approved plan is enforced protectively',
    state: 'built',
  },
  {
    id: 'option.environment.production-fail-closed',
    behaviour: 'In production calls are blocked when governance cannot be had',
    state: 'built',
  },
  {
    id: 'option.capture-level.default',
    behaviour: 'captureLevel is redacted when not given',
    state: 'built',
  },
  {
    id: 'option.capture-level',
    behaviour: "captureLevel sets what the session's captures hold",
    state: 'built',
  },
  {
    id: 'option.store',
    behaviour: 'store replaces the keeper of session state and captures',
    state: 'built',
  },
  {
    id: 'option.on-block',
    behaviour: 'onBlock is called with the decision on a block',
    state: 'built',
  },
  {
    id: 'option.on-narrow',
    behaviour: 'onNarrow is called with the result of a narrowing',
    state: 'built',
  },
  {
    id: 'option.diagnostics',
    behaviour: 'diagnostics is called with diagnostic events',
    state: 'built',
  },
  {
    id: 'option.labels',
    behaviour: 'labels puts append-only labels on the session',
    state: 'built',
  },
  {
    id: 'option.on-checkpoint',
    behaviour: 'onCheckpoint is an asynchronous callback that is asked at checkpoints',
    state: 'built',
  },
  {
    id: 'option.on-checkpoint.required',
    behaviour: 'Contracts with checkpoints and no onCheckpoint are refused',
    state: 'built',
  },
  {
    id: 'option.workflow',
    behaviour: 'workflow may be left out and makes the session part of a workflow when given',
    state: 'built',
  },
] as const satisfies readonly Fact[]
