import type { Bugs } from './sabotages.js'

/** What a program meets: its session, its turns, what is observed of it. */
export const sdkSabotages: Bugs = {
  'packages/sdk/src/session/core/health.ts': [
    {
      breaks: 'health.authority-state',
      from: "  if (authority.status === 'COMPROMISED') return 'compromised'\n",
      to: '',
    },
    { breaks: 'health.status', from: '!unjudged && !bypassed', to: '!unjudged' },
    {
      breaks: 'health.tier',
      from: "tier: governed && !alone ? 'strong' : 'compat'",
      to: "tier: governed ? 'strong' : 'compat'",
    },
    {
      breaks: 'health.compat-enforcement',
      from: '    compatEnforcement,\n',
      to: "    compatEnforcement: 'protective',\n",
    },
    {
      breaks: 'health.durability.degraded-local',
      from: "authority.connection === 'up' && authority",
      to: "authority.connection !== 'untried' && authority",
    },
    {
      breaks: 'health.unguarded-calls',
      from: 'totalUnguardedCalls: authority.unguardedCalls',
      to: "totalUnguardedCalls: authority.connection === 'up' ? 0 : authority.unguardedCalls",
    },
    {
      breaks: 'health.total-errors',
      from: 'totalErrors: authority.errors + facts.otherErrors',
      to: 'totalErrors: facts.otherErrors',
    },
  ],
  'packages/sdk/src/authority/remote/link.ts': [
    {
      breaks: 'option.max-unguarded-calls.kills',
      from: 'unguarded > maxUnguardedCalls)',
      to: 'unguarded > maxUnguardedCalls + 1)',
    },
    {
      breaks: 'state.server-failure.blocks',
      from: "onError === 'block' || !isKnown",
      to: '!isKnown',
    },
    { breaks: 'health.total-blocks', from: 'local.watches || options.advises', to: 'local.watches' },
  ],
  'packages/sdk/src/authority/remote/catch-up.ts': [
    { breaks: 'option.on-in-doubt.asked', from: 'asked: call.checkpoint_required', to: 'asked: false' },
  ],
  'packages/sdk/src/base/health-snapshot.ts': [
    { breaks: 'health.cluster-detected', from: 'cluster.isWorker || appInstance !== null', to: 'appInstance !== null' },
  ],
  'packages/sdk/src/session/core/session-context.ts': [
    {
      breaks: 'state.bypass.compromised',
      from: '      authority.control({ bypass: method })\n',
      to: '',
    },
    {
      breaks: 'state.restore.later-calls-throw',
      from: 'if (hasEnded) {',
      to: 'if (hasEnded && killing.signal.aborted) {',
    },
    {
      breaks: 'state.kill.propagates',
      from: "onKilled('client')\n      authority.control({ kill: 'client' })",
      to: "onKilled('client')",
    },
  ],
  'packages/sdk/src/session/core/session-rules.ts': [
    {
      breaks: 'option.environment.staging',
      from: "(governed && by === 'server') || compat === 'protective'",
      to: "governed || compat === 'protective'",
    },
    {
      breaks: 'option.environment.staging-advises',
      from: "environment !== 'production' && compat === 'advisory' && MISSING.has(state)",
      to: "compat === 'advisory' && MISSING.has(state)",
    },
    {
      breaks: 'protection.govern-needs-tools',
      from: "mode === 'enforce' && settings.apiKey !== null && settings.tools !== null",
      to: "mode === 'enforce' && settings.apiKey !== null",
    },
    {
      breaks: 'health.protection-level',
      from: "return compat === 'protective' ? 'protect' : 'monitor'",
      to: "return 'protect'",
    },
  ],
  'packages/sdk/src/session/core/attachment.ts': [
    {
      breaks: 'plan.zero-config',
      from: 'agent: settings.agent ?? DEFAULT_AGENT',
      to: 'agent: DEFAULT_AGENT',
    },
    {
      breaks: 'health.governance-attachment.no-plan',
      from: "if (lookup.status !== 'approved')",
      to: "if (lookup.status === 'none')",
    },
  ],
  'packages/sdk/src/session/core/load-plan.ts': [
    {
      breaks: 'health.governance-attachment.artifact-invalid',
      from: 'if (prepared.plan.hash !== hash)',
      to: 'if (prepared.plan.hash.length !== hash.length)',
    },
    {
      breaks: 'error.config.policy-without-principal',
      from: 'plan.usesPolicy && settings.principal === undefined',
      to: 'plan.usesPolicy && settings.principal === null',
    },
  ],
  'packages/sdk/src/session/core/provider-pattern.ts': [
    {
      breaks: 'event.replay-provider-warning',
      from: 'each?.warn_incompatible ?? []',
      to: 'each?.block_incompatible ?? []',
    },
  ],
  'packages/sdk/src/options/environment.ts': [
    { breaks: 'option.environment', from: "known ?? 'production'", to: "known ?? 'development'" },
    { breaks: 'environment.disable', from: '/^(true|1|yes|on)$/i', to: '/^(true|1|yes|on)$/' },
  ],
  'packages/sdk/src/options/observe-settings.ts': [
    { breaks: 'observe.timeout-ms.maximum', from: '    return kind.max\n', to: '    return value\n' },
  ],
  'packages/sdk/src/session/core/gate.ts': [
    {
      breaks: 'option.gate.reject-all',
      from: "if (gate === 'reject_all') return { action: 'refuse' }",
      to: "if (gate === 'reject_all' && blocked.length === decisions.length) return { action: 'refuse' }",
    },
    {
      breaks: 'option.gate.strip-blocked',
      from: "return gate === 'strip_partial' ?",
      to: "return gate !== 'reject_all' ?",
    },
  ],
  'packages/sdk/src/session/core/checkpoints.ts': [
    {
      breaks: 'approval-response.checkpoint-id',
      from: 'if (checked.data.checkpoint_id === trigger.checkpoint_id)',
      to: "if (checked.data.checkpoint_id !== '')",
    },
    {
      breaks: 'checkpoint.words',
      from: "return { approval, refused: { ended: 'checkpoint_denied', said: null } }",
      to: "return { approval, refused: { ended: 'checkpoint_denied', said: reason } }",
    },
    {
      breaks: 'approval-response.decided-by',
      from: 'decision, decided_by, decided_at, ...(',
      to: 'decision, decided_at, ...(',
    },
    {
      breaks: 'approval-response.decided-at',
      from: 'const { decision, decided_by, decided_at, reason } = given',
      to: 'const { decision, decided_by, reason } = given\n  const decided_at = approver.now().toISOString()',
    },
  ],
  'packages/sdk/src/calls/guard.ts': [
    {
      breaks: 'block.killed',
      from: "    if (session.killed.aborted) return refuse('killed', { ...WAS_KILLED, advice })\n",
      to: '',
    },
    {
      breaks: 'contract.execution-constraints',
      from: '  if (violated === null) return null',
      to: '  if (violated === null || !session.killed.aborted) return null',
    },
  ],
  'packages/sdk/src/authority/local/local-session.ts': [
    { breaks: 'option.mode.shadow', from: 'if (breaker && !options.watches)', to: 'if (breaker)' },
  ],
  'packages/sdk/src/base/deep-freeze.ts': [
    { breaks: 'snapshot.immutable', from: '  for (const part of Object.values(value)) deepFreeze(part)\n', to: '' },
  ],
  'packages/sdk/src/authority/remote/prepared-ahead.ts': [
    { breaks: 'turn.next.no-preflight', from: ' || taken.ageMs() > FRESH_MS', to: '' },
    { breaks: 'turn.next.no-preflight', from: 'if (likenessOf(request) !== taken.likeness) return null\n', to: '' },
    { breaks: 'turn.next.no-preflight', from: ' || latest !== asked', to: '' },
    {
      breaks: 'turn.next.no-preflight',
      from: 'const taken = ready\n      ready = null\n',
      to: 'const taken = ready\n',
    },
    {
      breaks: 'turn.next.no-preflight',
      from: '    drop() {\n      ready = null\n',
      to: '    drop() {\n',
    },
  ],
  'packages/sdk/src/authority/remote/remote.ts': [
    { breaks: 'turn.next.no-preflight', from: 'ahead.take(request) ?? ', to: '' },
    {
      breaks: 'turn.next.judged-anew',
      from: "if (!isRefusal(error, 'PREPARED_REQUEST_STALE') || ",
      to: 'if (true || ',
    },
    {
      breaks: 'turn.server-decides',
      from: "      if (proposal.prepared.by === 'local') return",
      to: "      const own = judgeHere(link.newFork(), proposal)\n      if (own.outcome === 'allowed' || proposal.prepared.by === 'local') return",
    },
  ],
  'packages/sdk/src/clients/clients.ts': [
    {
      breaks: 'observe.detects-provider',
      from: "matches: (client) => hasMethod(client, 'messages.create'),",
      to: "matches: (client) => client.constructor.name === 'Anthropic',",
    },
  ],
  'packages/sdk/src/clients/bypass.ts': [
    {
      breaks: 'event.replay-bypass-detected',
      from: 'if (ownCalls === 0) onBypass(path)',
      to: 'if (ownCalls > 0) onBypass(path)',
    },
  ],
  'packages/sdk/src/clients/watch-client.ts': [
    {
      breaks: 'observe.stream-after-end',
      from: '      if (result.done) atEnd()\n      else take(result.value)',
      to: '      if (!result.done) take(result.value)',
    },
  ],
  'packages/sdk/src/observe/capture-buffer.ts': [
    {
      breaks: 'event.buffer-overflow',
      from: "report({ type: 'buffer_overflow', dropped })",
      to: "report({ type: 'buffer_overflow', dropped: 1 })",
    },
  ],
  'packages/sdk/src/observe/capture-item.ts': [
    {
      breaks: 'capture.redacted.nothing-else',
      from: "...(captureLevel === 'full' ? { messages",
      to: "...(captureLevel !== 'metadata' ? { messages",
    },
  ],
  'packages/sdk/src/base/circuit-breaker.ts': [
    {
      breaks: 'limit.observe-breaker.opens',
      from: 'if (inARow < failures) return false',
      to: 'if (inARow <= failures) return false',
    },
  ],
  'packages/sdk/src/contracts/validate.ts': [
    {
      breaks: 'validate.unmatched-policy.default',
      from: "options.unmatchedPolicy ?? 'deny'",
      to: "options.unmatchedPolicy ?? 'allow'",
    },
  ],
  'packages/sdk/src/contracts/contract-files.ts': [
    {
      breaks: 'option.session-yaml-path.auto',
      from: "const SESSION_FILES = ['session.yaml',",
      to: "const SESSION_FILES = ['session.yaml.txt',",
    },
  ],
}
