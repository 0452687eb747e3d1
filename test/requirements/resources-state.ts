import type { Fact } from './fact.js'

export const resourcesState = [
  {
    id: 'snapshot.redacted',
    behaviour: 'getState() shows neither arguments nor identities',
    state: 'built',
  },
  {
    id: 'snapshot.immutable',
    behaviour: 'Writing to a snapshot, at any depth, changes nothing in the session',
    state: 'built',
  },
  {
    id: 'snapshot.session-id',
    behaviour: 'sessionId is the id of the session as a string',
    state: 'built',
  },
  {
    id: 'snapshot.agent',
    behaviour: "agent is the agent's name, or null when none was given",
    state: 'built',
  },
  {
    id: 'snapshot.principal',
    behaviour: 'principal is null even when the session has one',
    state: 'built',
  },
  {
    id: 'snapshot.started-at',
    behaviour: 'startedAt is the time at which the session began',
    state: 'built',
  },
  {
    id: 'snapshot.state-version',
    behaviour: 'stateVersion counts the committed steps',
    state: 'built',
  },
  {
    id: 'snapshot.control-revision',
    behaviour: 'controlRevision is a number that rises with label, filter, kill and bypass',
    state: 'built',
  },
  {
    id: 'snapshot.current-phase',
    behaviour: "currentPhase is the phase's name, or null without phases",
    state: 'built',
  },
  {
    id: 'snapshot.total-step-count',
    behaviour: 'totalStepCount is the number of steps',
    state: 'built',
  },
  {
    id: 'snapshot.total-tool-calls',
    behaviour: 'totalToolCalls is the number of tool calls',
    state: 'built',
  },
  {
    id: 'snapshot.total-cost',
    behaviour: 'totalCost adds up the cost of committed steps only',
    state: 'built',
  },
  {
    id: 'snapshot.actual-cost',
    behaviour: 'actualCost adds up every model call, blocked and retried ones too',
    state: 'built',
  },
  {
    id: 'snapshot.actual-cost.limits',
    behaviour: "The session's cost limit is checked against actualCost",
    state: 'built',
  },
  {
    id: 'snapshot.tool-call-counts',
    behaviour: "toolCallCounts maps each tool's name to its number of calls",
    state: 'built',
  },
  {
    id: 'snapshot.forbidden-tools',
    behaviour: 'forbiddenTools lists the tools that are forbidden from now on',
    state: 'built',
  },
  {
    id: 'snapshot.satisfied-preconditions',
    behaviour: 'satisfiedPreconditions maps what has been satisfied to its value',
    state: 'built',
  },
  {
    id: 'snapshot.last-step',
    behaviour: 'lastStep shows the latest completed step, or null before the first',
    state: 'built',
  },
  {
    id: 'snapshot.last-narrowing',
    behaviour: 'lastNarrowing shows the latest narrowing, or null before the first',
    state: 'built',
  },
  {
    id: 'snapshot.killed',
    behaviour: 'killed is true from the kill on',
    state: 'built',
  },
  {
    id: 'snapshot.total-unguarded-calls',
    behaviour: 'totalUnguardedCalls counts calls made without the server',
    state: 'built',
  },
  {
    id: 'snapshot.consecutive-block-count',
    behaviour: 'consecutiveBlockCount counts blocks in a row and falls to zero after an allowed call',
    state: 'built',
  },
  {
    id: 'snapshot.total-block-count',
    behaviour: 'totalBlockCount counts all blocks of the session',
    state: 'built',
  },
  {
    id: 'health.status',
    behaviour: 'status is healthy, degraded or inactive',
    state: 'built',
  },
  {
    id: 'health.authority-state',
    behaviour: 'authorityState is active, advisory, compromised, recovering, killed or inactive',
    state: 'built',
  },
  {
    id: 'health.protection-level',
    behaviour: 'protectionLevel is monitor, protect or govern',
    state: 'built',
  },
  {
    id: 'health.durability',
    behaviour: 'durability is server, degraded-local or inactive',
    state: 'built',
  },
  {
    id: 'health.durability.server',
    behaviour: 'durability is server while the server is connected and keeps the state',
    state: 'built',
  },
  {
    id: 'health.durability.degraded-local',
    behaviour: 'durability is degraded-local while the server is away and rules are enforced locally',
    state: 'built',
  },
  {
    id: 'health.durability.inactive',
    behaviour: 'durability is inactive when no server connection is configured',
    state: 'built',
  },
  {
    id: 'health.tier',
    behaviour: 'tier is strong with an authoritative server and compat without',
    state: 'built',
  },
  {
    id: 'health.compat-enforcement',
    behaviour: 'compatEnforcement shows protective or advisory as configured',
    state: 'built',
  },
  {
    id: 'health.cluster-detected',
    behaviour: 'cluster_detected tells whether the process is one of several of a cluster',
    state: 'built',
  },
  {
    id: 'health.bypass-detected',
    behaviour: 'bypass_detected becomes true when the original client was called directly',
    state: 'built',
  },
  {
    id: 'health.total-steps',
    behaviour: 'totalSteps is the number of steps so far',
    state: 'built',
  },
  {
    id: 'health.total-blocks',
    behaviour: 'totalBlocks is the number of blocks so far',
    state: 'built',
  },
  {
    id: 'health.total-errors',
    behaviour: 'totalErrors is the number of errors so far',
    state: 'built',
  },
  {
    id: 'health.shadow-evaluations',
    behaviour: 'shadowEvaluations is the number of evaluations made in shadow mode',
    state: 'built',
  },
  {
    id: 'health.killed',
    behaviour: 'killed is true from the kill on',
    state: 'built',
  },
  {
    id: 'health.governance-attachment',
    behaviour: 'governanceAttachment, where present, is one of its six listed values',
    state: 'built',
  },
  {
    id: 'health.governance-attachment.pending',
    behaviour: 'governanceAttachment is pending until the lookup has answered',
    state: 'built',
  },
  {
    id: 'health.governance-attachment.no-plan',
    behaviour: 'governanceAttachment is no_plan when no approved plan exists',
    state: 'built',
  },
  {
    id: 'health.governance-attachment.attached',
    behaviour: 'governanceAttachment is attached when an approved plan is in use',
    state: 'built',
  },
  {
    id: 'health.governance-attachment.artifact-invalid',
    behaviour: 'governanceAttachment is artifact_invalid when the plan does not fit its hash',
    state: 'built',
  },
  {
    id: 'health.governance-attachment.attachment-failed',
    behaviour: 'governanceAttachment is attachment_failed when a valid plan cannot be put to use',
    state: 'built',
  },
  {
    id: 'health.governance-attachment.fetch-failed',
    behaviour: 'governanceAttachment is fetch_failed when the lookup did not answer',
    state: 'built',
  },
  {
    id: 'health.unresolved-receipt-count',
    behaviour: 'unresolvedReceiptCount, where present, is the number of receipts still open',
    state: 'built',
  },
  {
    id: 'label.never-removed',
    behaviour: 'A label that a session has stays with it for good',
    state: 'built',
  },
  {
    id: 'label.at-creation',
    behaviour: 'Labels given when a session is created are on it from the start',
    state: 'built',
  },
  {
    id: 'label.by-endpoint',
    behaviour: 'Labels given through the labels endpoint are on the session afterwards',
    state: 'built',
  },
  {
    id: 'label.gates-narrow',
    behaviour: "A tool that an active label denies is missing from the preflight's allowed tools",
    state: 'built',
  },
] as const satisfies readonly Fact[]
