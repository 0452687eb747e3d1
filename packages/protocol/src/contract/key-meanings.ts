import type { Contract, SessionDefinition } from './contract.js'
import type { StoryFile } from './story.js'

/** The keys of a contract. A key without a row does not compile. */
export const CONTRACT_KEYS: Readonly<Record<keyof Contract, string>> = {
  schema_version: 'always `"1.0"`',
  tool: 'the exact name of the tool; required',
  description: 'a note for people',
  source: '`inferred` if the server learned the contract, `customer` once a person has edited it',
  side_effect: 'one of `read`, `egress_read`, `write`, `destructive`, `admin`, `financial`',
  evidence_class: '`local_transaction` (a failed call is rolled back), `ack_only` or `unverifiable`',
  commit_requirement:
    'the evidence a step needs to count: `reported` (default for reads) or `executed` (default for everything else). A tool in the option `tools` always needs `executed`',
  gate: '`allow` or `block`; overrides `risk_defaults` of the session',
  arguments: 'JSON Schema 2020-12 for the arguments',
  assertions: '`input_invariants` on the request, `output_invariants` on the normalized response',
  argument_value_invariants: 'rules for the arguments of this call: a list of `{ path, operator: operand }`',
  response_format_invariants: 'rules for `finish_reason` and `content` of the response that contains the call',
  transitions: '`valid_in_phases`: where the tool may be called; `advances_to`: the phase that follows',
  preconditions:
    '`requires_prior_tool`, optionally with `with_output`, `same`, `latest` (only the newest call counts) and `consumes` (one earlier call opens one call), or `requires_step_count`; like all rules that restrict, optionally with `when` and `message`',
  forbids_after: 'tools that may not be called after this one',
  binds:
    'names for values from the arguments or the result, set when the call commits; with `key`, one for each value of an argument; with `each`, one for each row of the result',
  refs: 'arguments that must equal a bound value, with `key` the one bound for the same key',
  sources:
    'where the value of an argument may come from; `otherwise: block`, `ask` or `note`; `dictated`, `quoted` and `invented` say the same of dates, quotes and made-up addresses',
  columns: 'what the columns of the result contain; written by learning',
  surprise:
    'how much each sign of an unusual call counts for this tool, as learned; `unused` for a tool that no session used',
  aggregates:
    'limits on the `sum`, `count` or `max` of a value over the session, with `key` for each value of an argument; `lte` and `lt` take a number, or `{ ref: name }` for an established value',
  envelopes:
    'limits relative to an established value: `at_most`, `at_least`, `within`; with `key`, to the one of the same key, without it to the strictest of the session',
  establishes:
    'values that envelopes refer to, set when the call commits; with `key`, one for each value of an argument; with `each`, one for each row of the result',
  labels:
    '`deny_when`: labels that forbid the call; `adds`: labels that the call adds; with `sticks_to: principal`, new sessions of the same principal start with them',
  resources: 'what the call locks against other sessions of its workflow',
  execution_constraints: 'rules that the tool wrapper checks just before the tool runs',
  checkpoint:
    'when a person must approve the call; one trigger or a list. With `ask`, members of the tenant are asked, and the question outlives the program',
  policy: '`cedar`: who may call the tool; needs a principal',
  principal:
    '`proven`: a session with this contract must be opened with a token of a listed issuer; the word of the program does not count',
  hours:
    "`time_zone` and `allow`: when the tool may be called, by the server's clock; one or a list, of which all must allow the call",
  timeouts: '`total_ms`: how long the tool may run',
  message: 'what the model reads when a rule of the contract blocks and has no `message` of its own',
}

/** The keys of session.yaml. */
export const SESSION_KEYS: Readonly<Record<keyof SessionDefinition, string>> = {
  schema_version: 'always `"1.0"`',
  agent: 'the name of the agent',
  description: 'a note for people',
  phases: 'the phases by name: exactly one `initial`, at least one `terminal`',
  transitions: 'the phases that may follow each phase',
  session_limits:
    '`max_steps`, `max_tool_calls`, `max_cost_per_session`, `max_calls_per_tool`, `max_calls_per_minute`, `loop_detection`, `circuit_breaker`',
  shared_limits:
    'limits over all sessions: `name`, `tool`, `per` (`{ argument: path }`, `principal`, `agent`, `workflow` or `tenant`), `max_calls`, `sum` with `lte`, or `cost: true` with `lte`, and a rolling `window` such as `24h`',
  risk_defaults: '`allow`, `block` or `checkpoint` for each side effect; applies to tools without a `gate`',
  pricing: 'price per million tokens for each provider/model pattern',
  policy: '`cedar`: who may use the session at all',
  principal:
    '`proven`: every session must be opened with a token of a listed issuer; the word of the program does not count',
  hours:
    "`time_zone` and `allow`: when any tool may be called, by the server's clock; one or a list, of which all must allow the call",
  provider_constraints: '`block_incompatible` and `warn_incompatible` patterns for provider/model',
  surprise:
    '`alpha` and `scores`: in which share of requests a person may be asked about a call that is unlike those learned from',
  ask: 'members of the tenant are asked wherever a checkpoint has no `ask` of its own: `role`, `count`, `self`, `window`, `remind`, `escalate`',
}

/** The keys of a `*.test.yaml`. */
export const STORY_KEYS: Readonly<Record<keyof StoryFile, string>> = {
  stories:
    'each a session of its own: a `name`, optionally `labels` and a `principal`, and `steps`, each a call with what must be decided about it',
}
