import type { Bugs } from './sabotages.js'

/** What a session gives its program: turns, runs, accessors, `fetch` and the governed client. */
export const sessionSabotages: Bugs = {
  'packages/sdk/src/session/core/snapshot.ts': [
    {
      breaks: 'session.get-state',
      from: 'lastNarrowing: notes.narrowingSnapshot()',
      to: 'lastNarrowing: null',
    },
  ],
  'packages/sdk/src/session/core/health.ts': [
    {
      breaks: 'session.get-health',
      from: 'governed, unjudged, attachment },\n',
      to: 'governed: false, unjudged, attachment },\n',
    },
  ],
  'packages/sdk/src/session/core/session-context.ts': [
    {
      breaks: 'guarantee.sources.refused-twice',
      from: '(callId) => verdicts.of(callId)?.verdict ?? null)',
      to: "(callId) => verdicts.of(callId)?.verdict ?? 'allow')",
    },
  ],
  'packages/sdk/src/clients/without-texts.ts': [
    { breaks: 'session.quote', from: '`${text.slice(at, from)}\\n`', to: 'text.slice(at, from)' },
    { breaks: 'session.quote', from: 'at = Math.max(at, to)', to: 'if (from >= at) at = to' },
  ],
  'packages/sdk/src/clients/conversations.ts': [
    { breaks: 'session.quote', from: "if (text.trim() === '') return", to: 'if (quotes.includes(text)) return' },
    {
      breaks: 'guarantee.sources.refused-twice',
      from: "if (verdict === 'allow') sawCall(",
      to: 'sawCall(',
    },
  ],
  'packages/sdk/src/session/core/protection.ts': [
    {
      breaks: 'option.api-key.missing-reported',
      from: 'hasKeyOption || tools !== null || (agent ??',
      to: 'hasKeyOption || (agent ??',
    },
    {
      breaks: 'option.api-key.missing-reported',
      from: 'agent ?? loaded.plan.session.agent ?? null',
      to: 'agent',
    },
  ],
  'packages/sdk/src/session/session-turn.ts': [
    { breaks: 'open-session.retry-is-one-turn', from: 'if (underWay !== undefined) return underWay', to: '' },
    {
      breaks: 'open-session.retry-is-one-turn',
      from: 'if (retried.size > MOST_RETRIED)',
      to: 'if (retried.size > 1_000_000)',
    },
    {
      breaks: 'open-session.narrows',
      from: 'allowed: Object.freeze(isRefused ? [] : toolNames(sent)),',
      to: 'allowed: Object.freeze(isRefused ? [] : toolNames(asked.request)),',
    },
  ],
  'packages/sdk/src/calls/answer-question.ts': [
    { breaks: 'open-session.asks', from: '  if (refused === null) {', to: "  if (given.decision !== 'deny') {" },
  ],
  'packages/sdk/src/calls/settle.ts': [
    {
      breaks: 'open-session.settle',
      from: 'settledReceipt(call, given.outcome, given.result, salt)',
      to: "settledReceipt(call, 'unknown', given.result, salt)",
    },
    {
      breaks: 'open-session.settle',
      from: '    if (session.verdicts.of(callId) === null) throw unknownCall(callId)\n',
      to: '',
    },
  ],
  'packages/sdk/src/session/core/verdicts.ts': [
    {
      breaks: 'open-session.judges',
      from: 'if (isBlocked(decision)) return blockVerdict(decision, args)',
      to: "if (isBlocked(decision) && decision.reason !== 'argument_value_mismatch') return blockVerdict(decision, args)",
    },
  ],
  'packages/sdk/src/calls/guard.ts': [
    {
      breaks: 'open-session.blocked-run-gives-remedy',
      from: "isParked || verdict.verdict === 'block'\n",
      to: "isParked || verdict.verdict === 'allow'\n",
    },
    {
      breaks: 'session.kill',
      from: "if (session.stance(call.by) !== 'enforce') return session.killed.aborted ? refuse('killed', WAS_KILLED) : null",
      to: "if (session.stance(call.by) !== 'enforce') return null",
    },
  ],
  'packages/sdk/src/calls/invoke.ts': [{ breaks: 'open-session.runs-once', from: '  calls.start(call)\n', to: '' }],
  'packages/sdk/src/calls/match-call.ts': [
    {
      breaks: 'open-session.runs-once',
      from: 'if (changed.length > 0 || callId === null)',
      to: 'if (callId === null)',
    },
    {
      breaks: 'session.tools',
      from: 'call.toolName === tool && (callId === null || call.callId === callId)',
      to: 'call.toolName === tool',
    },
  ],
  'packages/sdk/src/authority/local/local-session.ts': [
    {
      breaks: 'open-session.hidden-tool-blocked',
      from: 'offered: proposal.prepared.allowed,',
      to: 'offered: null,',
    },
  ],
  'packages/sdk/src/authority/running-tools.ts': [
    {
      breaks: 'session.ended-cost-nothing',
      from: '      if (running === 0) storage.disable?.()\n',
      to: '',
    },
    {
      breaks: 'session.ended-cost-nothing',
      from: '      running -= 1\n',
      to: '',
    },
  ],
  'packages/sdk/src/session/session.ts': [
    {
      breaks: 'session.widen',
      from: 'this.#context.authority().control({ filter: null })',
      to: 'this.#context.authority().control({ filter: [] })',
    },
    {
      breaks: 'session.flush',
      from: '[captures.flush(), authority().flush()]',
      to: '[authority().flush()]',
    },
    { breaks: 'session.narrow', from: '    checkToolFilter(toolFilter)\n', to: '' },
    {
      breaks: 'session.add-label',
      from: '    this.#context.authority().control({ label })\n',
      to: '',
    },
    {
      breaks: 'session.tools.absent',
      from: 'const isGiven = settings.tools !== null && !settings.addsTools',
      to: 'const isGiven = true',
    },
  ],
  'packages/sdk/src/session/replay-session.ts': [
    { breaks: 'session.restore', from: '      unwrapClient(this.#original)\n', to: '' },
  ],
  'packages/sdk/src/session/core/notes.ts': [
    {
      breaks: 'session.get-last-narrowing',
      from: 'narrowing = { allowed, removed }\n',
      to: 'narrowing ??= { allowed, removed }\n',
    },
    { breaks: 'session.get-last-trace', from: '      trace = begun\n', to: '      trace ??= begun\n' },
    {
      breaks: 'session.get-last-shadow-delta',
      from: 'delta = deepFreeze(shadowDelta(plan, current().state().phase, removed, decisions))',
      to: 'delta = deepFreeze(shadowDelta(plan, current().state().phase, [], decisions))',
    },
    {
      breaks: 'session.get-last-shadow-delta.shadow-only',
      from: "if (stance === 'shadow') {",
      to: "if (stance !== 'log') {",
    },
  ],
  'packages/sdk/src/session/workflow.ts': [
    {
      breaks: 'session.handoff',
      from: '    ...(note !== undefined && { note }),\n',
      to: '',
    },
    {
      breaks: 'session.get-workflow-state',
      from: "transport.call('loadWorkflow', { params: { workflow_id: workflowId } })",
      to: "transport.call('loadWorkflow', { params: { workflow_id: session.settings.sessionId } })",
    },
  ],
  'packages/sdk/src/session/session-fetch.ts': [
    {
      breaks: 'fetch.narrows',
      from: 'body: writtenAs(sent, texts) })',
      to: 'body: request.body })',
    },
    {
      breaks: 'fetch.judges',
      from: 'if (isEventStream(answer)) return',
      to: "if (isEventStream(answer) && provider.name === 'openai') return",
    },
    {
      breaks: 'fetch.refusal-is-an-answer',
      from: '    if (isOurs(error)) return { once: refuse(provider, error) }\n',
      to: '',
    },
    {
      breaks: 'fetch.refusal-is-an-answer',
      from: 'status: error instanceof ReplayConfigError ? 400 : 403,',
      to: 'status: 429,',
    },
    {
      breaks: 'fetch.ungovernable-refused',
      from: "endpoint.as === 'refused' && governor.binds()",
      to: "endpoint.as === 'refused' && method === 'POST' && governor.binds()",
    },
    {
      breaks: 'face.fetch',
      from: 'if (!answer.ok || answer.body === null)',
      to: 'if (answer.body === null)',
    },
  ],
  'packages/sdk/src/session/turn-memory.ts': [
    {
      breaks: 'fetch.retry-is-one-turn',
      from: "'x-stainless-retry-count') ?? 0) > 0",
      to: "'x-stainless-retry-count') ?? 0) > 1",
    },
    { breaks: 'fetch.retry-is-one-turn', from: 'isRetry(request) ? turns.get(key) : undefined', to: 'turns.get(key)' },
    { breaks: 'fetch.retry-is-one-turn', from: 'const text = `${url}\\n${body}`', to: 'const text = url' },
  ],
  'packages/sdk/src/clients/endpoints.ts': [
    {
      breaks: 'fetch.ungovernable-refused',
      from: "'DELETE', ends(`models/${ID}`, `chat/completions/${ID}`, `responses/${ID}`)",
      to: "'GET DELETE', ends(`models/${ID}`, `chat/completions/${ID}`, `responses/${ID}`)",
    },
  ],
  'packages/sdk/src/clients/govern-client.ts': [
    {
      breaks: 'session.client',
      from: '        if (governor.binds()) throw refusal(path)\n',
      to: '',
    },
    {
      breaks: 'session.client.no-sockets',
      from: "if (path === '' && name === 'apiKey' && governor.binds()) throw keyRefusal()",
      to: '',
    },
  ],
  'packages/sdk/src/clients/clients.ts': [
    { breaks: 'session.client.beta-messages', from: '    governed(anthropicBeta),\n', to: '' },
  ],
  'packages/sdk/src/session/core/gate.ts': [
    {
      breaks: 'face.replay',
      from: "const marked = gate === 'answer' ? blocked.filter(stays) : []",
      to: 'const marked: Decision[] = []',
    },
  ],
}
