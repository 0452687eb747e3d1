import type { Fact } from './fact.js'

export const states = [
  {
    id: 'state.prepared-request.consumed',
    behaviour: 'An unused prepared request is consumed by a proposal at its bound version',
    state: 'built',
  },
  {
    id: 'state.prepared-request.consumed-registers',
    behaviour: 'The proposal that consumes is judged and its allowed calls turn pending in one step',
    state: 'built',
  },
  {
    id: 'state.prepared-request.changed',
    behaviour: 'A proposal after a change of state is rejected and advances nothing',
    state: 'built',
  },
  {
    id: 'state.prepared-request.repeated',
    behaviour: 'A proposal on a consumed prepared request is rejected and advances nothing',
    state: 'built',
  },
  {
    id: 'state.pending-call.resolved',
    behaviour: 'A receipt with evidence resolves the pending call and is kept',
    state: 'built',
  },
  {
    id: 'state.pending-call.advances-if-satisfied',
    behaviour: 'Resolving raises state_version only when the evidence level meets the commit requirement',
    state: 'built',
  },
  {
    id: 'state.kill.from-sdk',
    behaviour: 'kill() in the SDK makes an active session killed',
    state: 'built',
  },
  {
    id: 'state.kill.from-endpoint',
    behaviour: 'The kill endpoint makes an active session killed',
    state: 'built',
  },
  {
    id: 'state.kill.later-calls-throw',
    behaviour: 'Every create call after a kill throws ReplayKillError',
    state: 'built',
  },
  {
    id: 'state.kill.irreversible',
    behaviour: 'Nothing brings a killed session back',
    state: 'built',
  },
  {
    id: 'state.kill.propagates',
    behaviour: 'In govern a kill in the SDK reaches the server',
    state: 'built',
  },
  {
    id: 'state.bypass.compromised',
    behaviour: 'Calling the original client directly in govern makes the session compromised',
    state: 'built',
  },
  {
    id: 'state.bypass.diagnostic',
    behaviour: 'A bypass emits replay_bypass_detected',
    state: 'built',
  },
  {
    id: 'state.bypass.writes-rejected',
    behaviour: "A compromised session's later authoritative writes are rejected",
    state: 'built',
  },
  {
    id: 'state.bypass.call-not-blocked',
    behaviour: 'The bypassing call itself goes through',
    state: 'built',
  },
  {
    id: 'state.recover',
    behaviour: 'A recoverable session can be recovered and one that is not is refused',
    state: 'built',
  },
  {
    id: 'state.recover.rotates-fence',
    behaviour: 'Recovery rotates lease and fence, so that the former holder is shut out',
    state: 'built',
  },
  {
    id: 'state.unreachable.degraded-local',
    behaviour: 'An unreachable server under onError allow makes durability degraded-local',
    state: 'built',
  },
  {
    id: 'state.unreachable.proceeds-locally',
    behaviour: 'While degraded calls go on under local enforcement without a durable record',
    state: 'built',
  },
  {
    id: 'state.unreachable.counts',
    behaviour: 'Each call made while degraded adds one to totalUnguardedCalls',
    state: 'built',
  },
  {
    id: 'state.unguarded.auto-kill',
    behaviour: 'More unguarded calls than maxUnguardedCalls kill the session',
    state: 'built',
  },
  {
    id: 'state.server-failure.blocks',
    behaviour: 'A server failure under onError block blocks the call and leaves the state unchanged',
    state: 'built',
  },
  {
    id: 'state.restore.later-calls-throw',
    behaviour: 'After restore() the wrapper is inert and create calls through it throw',
    state: 'built',
  },
  {
    id: 'state.checkpoint.approve',
    behaviour: 'An approval in time lets the call go on',
    state: 'built',
  },
  {
    id: 'state.checkpoint.deny',
    behaviour: 'A denial blocks the call with checkpoint_denied',
    state: 'built',
  },
  {
    id: 'state.checkpoint.timeout',
    behaviour: 'No answer in time blocks the call with checkpoint_timeout',
    state: 'built',
  },
  {
    id: 'state.checkpoint.on-timeout-default',
    behaviour: 'on_timeout is deny when a checkpoint does not say',
    state: 'built',
  },
  {
    id: 'state.checkpoint.budget',
    behaviour: 'The eleventh trigger in a session blocks with checkpoint_budget_exceeded',
    state: 'built',
  },
  {
    id: 'state.checkpoint.not-in-shadow',
    behaviour: 'Shadow mode triggers no checkpoint',
    state: 'built',
  },
  {
    id: 'state.checkpoint.timeout-minimum',
    behaviour: 'A checkpoint timeout below 30 seconds counts as 30',
    state: 'built',
  },
  {
    id: 'state.checkpoint.after-validation',
    behaviour: 'Checkpoint conditions are judged on the client once the response is validated',
    state: 'built',
  },
] as const satisfies readonly Fact[]
