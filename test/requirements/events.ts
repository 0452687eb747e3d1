import type { Facts } from './facts.js'

export const events = {
  'event.none-to-clients': 'The service pushes nothing to clients',
  'event.local-callback': "Diagnostic events reach the diagnostics callback in the client's own process",
  'event.replay-bypass-detected': 'replay_bypass_detected is emitted when the original client is called directly',
  'event.replay-bypass-detected.no-block': 'replay_bypass_detected is no block reason and stops no call',
  'event.replay-provider-warning': 'replay_provider_warning is emitted when a warn_incompatible pattern matches',
  'event.double-wrap': 'double_wrap is emitted when observe is called twice on one client',
  'event.unsupported-client': 'unsupported_client is emitted for an unknown client shape and carries a detail',
  'event.buffer-overflow': 'buffer_overflow is emitted when captures are dropped and carries how many',
  'learn.from-captures': 'A capture batch leads to contracts with structure, types and bounds',
  'learn.updates-confidence': 'A further capture batch updates the confidence',
  'learn.confidence.low': 'Fewer than 5 samples give low confidence',
  'learn.confidence.medium': '5 to 9 samples give medium confidence',
  'learn.confidence.high': '10 samples and more give high confidence',
  'learn.dictated': 'A date or a number that only the free text of a result names is not accepted unseen; one that was computed is',
  'learn.descriptive-columns': 'A column of results that never held a sentence vouches for its whole cells, also long ones such as postal addresses',
  'learn.quoted': 'Text that repeats free text of a result word for word is asked about',
  'learn.invented': 'A made-up address or identifier is asked about, however often one was made up before',
  'learn.default-rule': 'Every text argument of a tool that changes something is judged, also one that nobody has seen',
  'learn.openings-shown': 'Nothing that captures can hold widens what passes without a line of its own at approval',
  'learn.unusual': 'A call that is unlike those learned from asks a person, with one sentence about what was odd and where',
  'learn.other-languages': 'Requests and results in languages that the signs cannot read lead to questions, not to passing',
  'learn.unused-tool': 'A tool that changes something and that no session used asks, unless the user’s words name what it does',
  'learn.witnesses': 'The same request in other words is one witness: alone it makes no value known',
  'learn.orders': 'Where texts often tell their reader what to do, one that does so more than ever still asks',
  'learn.rates':
    'A learned plan states how many of its own captured requests it would have blocked and asked about, each judged by what was learned without it',
  'learn.rates.shown': 'A draft made of captures shows the rates that it measured and takes the share of questions that the person chooses',
  'learn.rates.kept':
    'After approval the measured rate of questions and blocks is shown beside the promised one, and one above it is an alert in the dashboard, the log and the metrics',
  'learn.demoted': 'Learned rules that would fire too often on their own captures ask or are only noted, and the draft says so',
} satisfies Facts
