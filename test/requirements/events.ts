import type { Fact } from './fact.js'

export const events = [
  {
    id: 'event.none-to-clients',
    behaviour: 'The service pushes nothing to clients',
    state: 'built',
  },
  {
    id: 'event.local-callback',
    behaviour: "Diagnostic events reach the diagnostics callback in the client's own process",
    state: 'built',
  },
  {
    id: 'event.replay-bypass-detected',
    behaviour: 'replay_bypass_detected is emitted when the original client is called directly',
    state: 'built',
  },
  {
    id: 'event.replay-bypass-detected.no-block',
    behaviour: 'replay_bypass_detected is no block reason and stops no call',
    state: 'built',
  },
  {
    id: 'event.replay-provider-warning',
    behaviour: 'replay_provider_warning is emitted when a warn_incompatible pattern matches',
    state: 'built',
  },
  {
    id: 'event.double-wrap',
    behaviour: 'double_wrap is emitted when observe is called twice on one client',
    state: 'built',
  },
  {
    id: 'event.unsupported-client',
    behaviour: 'unsupported_client is emitted for an unknown client shape and carries a detail',
    state: 'built',
  },
  {
    id: 'event.buffer-overflow',
    behaviour: 'buffer_overflow is emitted when captures are dropped and carries how many',
    state: 'built',
  },
  {
    id: 'learn.from-captures',
    behaviour: 'A capture batch leads to contracts with structure, types and bounds',
    state: 'built',
  },
  {
    id: 'learn.updates-confidence',
    behaviour: 'A further capture batch updates the confidence',
    state: 'built',
  },
  {
    id: 'learn.confidence.low',
    behaviour: 'Fewer than 5 samples give low confidence',
    state: 'built',
  },
  {
    id: 'learn.confidence.medium',
    behaviour: '5 to 9 samples give medium confidence',
    state: 'built',
  },
  {
    id: 'learn.confidence.high',
    behaviour: '10 samples and more give high confidence',
    state: 'built',
  },
] as const satisfies readonly Fact[]
