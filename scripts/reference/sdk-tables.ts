import type { DiagnosticType, ObserveOptions, ReplayOptions } from '@countersign/sdk'

/** An option that is added to the SDK and not written here does not compile. */
interface OptionRow {
  readonly type: string
  readonly default: string
  readonly what: string
}

export const REPLAY_OPTIONS: Readonly<Record<keyof ReplayOptions, OptionRow>> = {
  contracts: { type: 'contract or array', default: '', what: 'contracts that are loaded already' },
  contractsDir: { type: 'string', default: '', what: 'folder of contracts, or a pack with `contracts/`' },
  sessionYamlPath: { type: 'string', default: 'found', what: 'session.yaml, where it is not beside the contracts' },
  agent: { type: 'string', default: 'that of session.yaml', what: 'name of the agent' },
  sessionId: { type: 'string', default: 'made', what: 'id of the session; an existing one is recovered' },
  mode: {
    type: '`enforce`, `shadow`, `log-only`',
    default: '`enforce`',
    what: 'blocks; only says what it would block; only captures',
  },
  gate: {
    type: '`reject_all`, `strip_partial`, `strip_blocked`',
    default: '`reject_all`',
    what: 'what becomes of a response in which a call is blocked: an error; the rest, or an error when nothing is left; the rest, or text',
  },
  onError: {
    type: '`block`, `allow`',
    default: '`block`',
    what: 'what happens when the service cannot be reached: calls are blocked, or decided here by the same rules, from what the server told last; where it told nothing yet, with budgets of which nothing is used',
  },
  unmatchedPolicy: { type: '`block`, `allow`', default: '`block`', what: 'tools without a contract' },
  compatEnforcement: {
    type: '`protective`, `advisory`',
    default: '`protective`',
    what: 'without a server: blocks, or only tells the diagnostics',
  },
  maxRetries: {
    type: 'number',
    default: '0',
    what: 'new attempts of the model after a block, with the remedy; at most 5',
  },
  maxUnguardedCalls: {
    type: 'number',
    default: '3',
    what: 'calls without the server that `onError: allow` lets pass; one more kills the session',
  },
  narrowingFeedback: {
    type: '`silent`, `metadata`, `inject`',
    default: '`silent`',
    what: 'whether the model is told which tools were removed',
  },
  providerConstraints: {
    type: 'object',
    default: '',
    what: '`block_incompatible` and `warn_incompatible` patterns of provider/model',
  },
  principal: { type: 'any', default: '', what: 'who the agent acts for, for policies' },
  tools: {
    type: 'map of name to executor',
    default: '',
    what: 'the tools that `session.tools` wraps; needed for govern',
  },
  apiKey: { type: 'string', default: '`COUNTERSIGN_API_KEY`', what: 'key of the tenant; with `tools` it means govern' },
  runtimeUrl: {
    type: 'string',
    default: '`COUNTERSIGN_API_URL`, then http://127.0.0.1:4319',
    what: 'address of the service',
  },
  environment: {
    type: '`development`, `staging`, `production`',
    default: '`COUNTERSIGN_ENVIRONMENT`, `NODE_ENV`, then production',
    what: 'what an approved plan that was looked up means',
  },
  captureLevel: {
    type: '`metadata`, `redacted`, `full`',
    default: '`redacted`',
    what: 'what is kept: names; names and arguments; everything',
  },
  store: { type: 'store', default: 'memory', what: 'keeps the state of local sessions' },
  onBlock: { type: 'callback', default: '', what: 'told of every decision that blocks' },
  onNarrow: { type: 'callback', default: '', what: 'told when tools were removed' },
  diagnostics: { type: 'callback', default: '', what: 'told of [events](diagnostics.md)' },
  labels: { type: 'array of string', default: '', what: 'labels of the session from its start' },
  onCheckpoint: { type: 'async callback', default: '', what: 'asks a person; needed when a contract has a checkpoint' },
  workflow: { type: 'object', default: '', what: 'workflow and role of the session' },
  onInDoubt: {
    type: 'callback',
    default: '`unknown`',
    what: 'the outcome of a call that a lost holder of the session left behind',
  },
  takeover: { type: 'boolean', default: 'false', what: 'recover a session whose holder may still be alive' },
  timeoutMs: {
    type: 'number',
    default: '10000',
    what: 'one exchange with the service, retries included; at most 120000',
  },
  fetch: { type: 'function', default: 'global `fetch`', what: 'sends the requests to the service' },
}

export const OBSERVE_OPTIONS: Readonly<Record<keyof ObserveOptions, OptionRow>> = {
  apiKey: { type: 'string', default: '`COUNTERSIGN_API_KEY`', what: 'without one nothing is observed' },
  agent: { type: 'string', default: '`default`', what: 'name of the agent' },
  captureLevel: { type: '`metadata`, `redacted`, `full`', default: '`redacted`', what: 'what is captured' },
  endpoint: { type: 'string', default: '`COUNTERSIGN_API_URL`', what: 'address of the service' },
  maxBuffer: { type: 'number', default: '100', what: 'captures kept until they are sent; at most 1000' },
  flushMs: { type: 'number', default: '5000', what: 'time between two batches' },
  timeoutMs: { type: 'number', default: '5000', what: 'time for sending a batch; at most 10000' },
  disabled: { type: 'boolean', default: 'false', what: 'observes nothing; so does `COUNTERSIGN_DISABLE`' },
  diagnostics: { type: 'callback', default: '', what: 'told of [events](diagnostics.md)' },
  fetch: { type: 'function', default: 'the client of Node', what: 'sends the captures' },
}

export const DIAGNOSTICS: Readonly<Record<DiagnosticType, string>> = {
  replay_bypass_detected:
    'the original client was called directly; the session is compromised, the call itself was not stopped',
  replay_provider_warning: 'provider and model match a warn_incompatible pattern',
  double_wrap: 'observe was called twice on one client',
  unsupported_client: 'the shape of the client is not known',
  buffer_overflow: 'captures were dropped because the buffer was full',
  replay_compile_error: 'contracts do not compile',
  replay_compile_warning: 'contracts compile, and something in them is odd',
  capture_error: 'captures could not be sent',
  replay_killed: 'the session was killed, and why',
  replay_degraded:
    'the service failed; from here on the client enforces alone, or blocks: the detail says which, and from what state',
  replay_recovered: 'the service is back, or the session was recovered',
  replay_protection_level: 'the session can do less than the program may expect, and why',
  replay_advisory_block: 'advisory enforcement: this would have been blocked',
  replay_advisory_narrow: 'advisory enforcement: these tools would have been removed',
  replay_judgement_failed: 'nothing is enforced, and a judgement failed',
  replay_control_refused: 'the service does not take a label or a filter',
  replay_throttled: 'the quota of the tenant is used up for now; the call waits and is sent again',
  replay_turn_waiting: 'a call waits long for the one before it, most likely for a stream that is not read',
  governance_attachment: 'what became of the lookup of an approved plan',
  checkpoint_requested: 'a person is asked',
  checkpoint_resolved: 'a person, or time, has decided',
  option_clamped: 'a setting was out of range and was brought back into it',
  option_ignored: 'observe cannot use an option: it is no option, or of another type',
  callback_error: 'a callback of the program threw',
}
