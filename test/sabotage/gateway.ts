import type { Bugs } from './sabotages.js'

/** What an agent without any SDK meets: the wires of the providers, MCP, and hooks. */
export const gatewaySabotages: Bugs = {
  'packages/gateway/src/wire/wire-routes.ts': [
    {
      breaks: 'gateway.wires',
      from: 'return governed(request, url, wires)',
      to: 'return passed(request, url, wires)',
    },
    {
      breaks: 'gateway.fails-closed',
      from: 'return await finder.find(by)',
      to: "return await finder.find(by).catch(() => 'ses_lost')",
    },
    {
      breaks: 'gateway.keys-stay',
      from: 'const upstream = boundedFetch(parts.upstream, limits)',
      to: 'const upstream = boundedFetch((input, init) => (parts.log([...new Headers(init?.headers)].join()), parts.upstream(input, init)), limits)',
    },
    {
      breaks: 'gateway.faults',
      from: 'isEnforced(settings) ? judgeableErrors(upstream) : upstream',
      to: 'upstream',
    },
  ],
  'packages/sdk/src/session/session-fetch.ts': [
    {
      breaks: 'gateway.outage-retried',
      from: 'if (!isOutage(error)) {',
      to: 'if (!isOutage(error) || error.code === null) {',
    },
  ],
  'packages/sdk/src/authority/remote/remote.ts': [
    { breaks: 'gateway.outage-retried', from: '{ attempts: 100 }', to: '{ attempts: 4 }' },
  ],
  'packages/sdk/src/session/call-batches.ts': [
    { breaks: 'gateway.hooks.no-outcome', from: 'signal?.aborted === true', to: 'signal?.aborted === null' },
    {
      breaks: 'gateway.mcp-cases',
      from: 'if (proposed !== null) return',
      to: "if (proposed?.verdict === 'block') return",
    },
    { breaks: 'gateway.one-session', from: '...(proposals && { waitsFor: proposals.isOfModel })', to: '' },
    { breaks: 'mcp.one-turn', from: 'all.splice(0, LIMITS.callsPerProposal)', to: 'all.splice(0, 1)' },
  ],
  'packages/gateway/src/http/limits.ts': [
    { breaks: 'gateway.limits', from: 'requests >= mostRequests', to: 'requests > mostRequests' },
    { breaks: 'gateway.limits', from: 'if (others > 0 && held', to: 'if (held' },
  ],
  'packages/gateway/src/http/measure-body.ts': [
    { breaks: 'gateway.fair.values', from: 'values > LIMITS.bodyValues', to: 'values > 2 * LIMITS.bodyValues' },
  ],
  'packages/gateway/src/http/http-server.ts': [
    { breaks: 'gateway.log', from: 'asked.agent = agent', to: '' },
    { breaks: 'gateway.fair.connections', from: 'if (open <= most)', to: 'if (open <= most + MAX_REFUSALS)' },
    { breaks: 'gateway.limits', from: "signal.addEventListener('abort', held.leave)", to: '' },
  ],
  'packages/gateway/src/wire/messages.ts': [
    { breaks: 'gateway.passes', from: 'const NOT_PASSED = [\n', to: "const NOT_PASSED = [\n  'x-request-id',\n" },
    { breaks: 'gateway.keys-stay', from: "  'expect',", to: "  'expect',\n  'authorization'," },
    { breaks: 'gateway.faults', from: "  'x-original-url',\n", to: '' },
    { breaks: 'gateway.faults', from: '  // An upstream names no session.\n  SESSION_HEADER,\n', to: '' },
  ],
  'packages/gateway/src/wire/upstream.ts': [
    {
      breaks: 'gateway.faults',
      from: 'if (response.status >= 300 && response.status < 400) throw redirected(response.status)',
      to: '',
    },
    {
      breaks: 'gateway.faults',
      from: '(isStream ? lineBytes : bytes) > maxBytes',
      to: '!isStream && bytes > maxBytes',
    },
  ],
  'packages/gateway/src/wire/which-session.ts': [
    { breaks: 'gateway.session.found', from: 'if (named !== null) return named', to: "if (named === '') return named" },
    { breaks: 'gateway.session.apart', from: '`${agent}\\n${id}`', to: '`${id}`' },
    {
      breaks: 'gateway.retry',
      from: '> 0 ? byRequest.get(request) : undefined',
      to: '> 9 ? byRequest.get(request) : undefined',
    },
  ],
  'packages/gateway/src/http/own-pages.ts': [
    { breaks: 'metrics.token', from: 'if (token === null) throw', to: 'if (authorization === null) throw' },
    { breaks: 'gateway.readiness', from: 'return reason === null', to: 'return reason !== undefined' },
  ],
  'packages/sdk/src/session/open-shared-session.ts': [
    {
      breaks: 'gateway.session.shared',
      from: 'holderId: GATEWAY_HOLDER',
      to: 'holderId: `hld_${Math.random()}`',
    },
  ],
  'packages/sdk/src/clients/received-texts.ts': [
    { breaks: 'gateway.byte-equal', from: 'isObject(value) ? texts.get(value) : undefined', to: 'undefined' },
  ],
  'packages/sdk/src/turn/earlier-calls.ts': [
    {
      breaks: 'gateway.session.unknown',
      from: '.readMessages(request))(made, call.call_id, salt)',
      to: ".readMessages(request))(made, call.call_id, salt).outcome === '' ? null : { pending_call_id: made.pendingCallId, argument_hash: made.argumentHash, outcome: 'succeeded', evidence_level: 'reported' }",
    },
    {
      breaks: 'gateway.reported',
      from: "return isError ? reportedReceipt(call, 'failed') : settledReceipt(call, 'succeeded', text, salt)",
      to: "return settledReceipt(call, 'succeeded', text, salt)",
    },
    {
      breaks: 'gateway.cases',
      from: 'return value !== undefined && saltedHash(salt, value) === argumentHash',
      to: 'return false',
    },
  ],
  'packages/sdk/src/session/core/gate.ts': [
    {
      breaks: 'gateway.told',
      from: 'const text = explainToModel(blocked.filter((call) => !marked.includes(call)))',
      to: "const text = ''",
    },
  ],
  'packages/sdk/src/clients/endpoints.ts': [
    {
      breaks: 'gateway.refuses-by-name',
      from: "return isHarmless ? { as: 'harmless' } : REFUSED",
      to: "return { as: 'harmless' }",
    },
  ],
  'packages/gateway/src/base/session-options.ts': [
    { breaks: 'gateway.modes', from: "shadow: 'shadow', enforce", to: "shadow: 'enforce', enforce" },
  ],
  'packages/gateway/src/http/check-request.ts': [
    { breaks: 'gateway.bad-input', from: "  'mcp-session-id',\n", to: '' },
  ],
  'packages/gateway/src/http/read-json-text.ts': [
    { breaks: 'gateway.bad-input', from: " || encoding !== 'identity'", to: '' },
  ],
  'packages/gateway/src/http/read-body.ts': [
    { breaks: 'gateway.bad-input', from: 'if (bytes > maxBytes) throw', to: 'if (bytes > 2 * maxBytes) throw' },
  ],
  'packages/gateway/src/http/read-target.ts': [
    { breaks: 'gateway.bad-input', from: 'MEANS_MORE.test(path) || path', to: 'path' },
  ],
  'packages/gateway/src/hooks/hook-routes.ts': [
    {
      breaks: 'gateway.hooks.one-reading',
      from: 'const disguised = Object.keys(value).find(isDisguised)',
      to: 'const disguised = undefined as string | undefined',
    },
    {
      breaks: 'gateway.hooks',
      from: '(!/ToolUse/.test(hook_event_name) || (isName(value.tool_name) && isName(value.tool_use_id)))',
      to: 'true',
    },
  ],
  'packages/sdk/src/calls/find-proposed.ts': [
    {
      breaks: 'gateway.matched',
      from: 'isMeant(call.toolName, call.callId) && meansCall(call, given)',
      to: 'isMeant(call.toolName, call.callId)',
    },
    {
      breaks: 'gateway.claimed',
      from: '      call.argument_hash === hash,',
      to: '      call.argument_hash.length === hash.length,',
    },
  ],
  'packages/sdk/src/calls/guard.ts': [
    {
      breaks: 'gateway.claimed',
      from: 'permit(call, isExclusive)',
      to: 'permit(call, isExclusive && session.killed.aborted)',
    },
    {
      breaks: 'gateway.claimed',
      from: '  session.calls.drop(call)',
      to: '  session.calls.resolve(call, notExecuted(call))',
    },
  ],
  'packages/server/src/sessions/claim-call.ts': [
    { breaks: 'control.claim', from: ' || call.claim !== undefined) {', to: ') {' },
    { breaks: 'control.claim', from: 'call?.argument_hash !== body.argument_hash', to: 'call === undefined' },
    {
      breaks: 'gateway.claimed',
      from: "call.state !== 'pending' || call.claim !== undefined",
      to: "call.state !== 'pending'",
    },
  ],
  'packages/gateway/src/process/run-mcp.ts': [
    {
      breaks: 'mcp.require-proposal',
      from: "requiresProposal: flags['require-proposal'] === true && isShared",
      to: 'requiresProposal: false',
    },
  ],
  'packages/gateway/src/mcp/tool-calls.ts': [
    { breaks: 'gateway.require-proposal', from: 'callId === id ? NOT_PROPOSED : null', to: 'null' },
  ],
  'packages/gateway/src/mcp/mcp-sessions.ts': [{ breaks: 'gateway.session.ends', from: '      found.end()\n', to: '' }],
  'packages/gateway/src/mcp/mcp-routes.ts': [
    {
      breaks: 'gateway.session.ends',
      from: 'void pool.end(agent, sessionId).catch(() => {})',
      to: '{}',
    },
  ],
  'packages/gateway/src/wire/session-pool.ts': [
    {
      breaks: 'gateway.session.ends',
      from: 'if (pooled === undefined || pooled.hasTurns()) return',
      to: 'if (pooled === undefined) return',
    },
  ],
  'packages/gateway/src/mcp/relay.ts': [
    { breaks: 'mcp.passes', from: 'return (_, text) => toHost(text)', to: 'return (response) => tellHost(response)' },
  ],
  'packages/gateway/src/mcp/tool-result.ts': [
    {
      breaks: 'mcp.block-is-result',
      from: "content: [{ type: 'text', text }], isError: true }",
      to: "content: [{ type: 'text', text }] }",
    },
    { breaks: 'mcp.receipts', from: "if (result.isError === true) throw new ToolFailed('MCP_TOOL_ERROR')", to: '' },
    { breaks: 'mcp.policies', from: 'return textOf(result.content) ?? result', to: 'return result' },
  ],
  'packages/gateway/src/mcp/governed-server.ts': [
    {
      breaks: 'mcp.lists',
      from: 'tools: unchanged.filter(({ name }) => allowed.has(String(name))),',
      to: 'tools: unchanged,',
    },
  ],
  'packages/gateway/src/mcp/tool-names.ts': [
    { breaks: 'mcp.names', from: 'if (has(name)) return name', to: 'if (has(name.trim())) return name.trim()' },
  ],
  'packages/gateway/src/mcp/message.ts': [
    {
      breaks: 'mcp.strict-messages',
      from: 'if (result !== undefined || error !== undefined) {',
      to: 'if (result !== undefined && error !== undefined) {',
    },
    { breaks: 'mcp.strict-messages', from: 'if (extra === undefined) return read', to: 'return read' },
  ],
  'packages/gateway/src/mcp/open-requests.ts': [
    { breaks: 'mcp.dead-server', from: 'for (const { lost } of waiting) lost(why)', to: '' },
  ],
  'packages/gateway/src/mcp/http-upstream.ts': [
    { breaks: 'mcp.http', from: '/^(?:accept|content-type|mcp-(', to: '/^(?:accept|authorization|content-type|mcp-(' },
    {
      breaks: 'mcp.http-faults',
      from: "new Error('the MCP server broke off', { cause: error }), { code: 'ECONNRESET' }",
      to: "new Error('the MCP server broke off', { cause: error }), { code: 'EBROKEN' }",
    },
  ],
  'packages/gateway/src/mcp/mcp-route.ts': [
    { breaks: 'mcp.http-bad-input', from: '      authorize(request.headers, options.apiKey)\n', to: '' },
  ],
  'packages/gateway/src/mcp/http-exchange.ts': [
    {
      breaks: 'mcp.http-faults',
      from: 'if ((controller.desiredSize ?? 1) > 0 || signal.aborted) return',
      to: 'return',
    },
  ],
  'packages/gateway/src/mcp/passed-answer.ts': [
    { breaks: 'gateway.stops', from: '    answer.drop()\n    return', to: '    return' },
    { breaks: 'mcp.http-faults', from: '(id !== null && response.id === id)', to: 'response.id !== undefined' },
    {
      breaks: 'mcp.lists',
      from: 'if (!answers(message, id)) return null',
      to: 'if (!answers(message, id)) return read.text',
    },
    { breaks: 'mcp.lists', from: 'if (!read.ok) return null', to: 'if (!read.ok) return text' },
  ],
  'packages/gateway/src/mcp/event-stream.ts': [
    { breaks: 'mcp.lists', from: '/(?:\\r\\n|\\n|\\r(?!\\n)){2}/', to: '/\\r\\n\\r\\n|\\n\\n|\\r\\r/' },
  ],
  'packages/gateway/src/mcp/tool-catalog.ts': [
    {
      breaks: 'mcp.pinned',
      from: "'name', 'title', 'description', 'inputSchema'",
      to: "'name', 'title', 'inputSchema'",
    },
  ],
  'packages/gateway/src/mcp/pins/choose-pins.ts': [
    {
      breaks: 'mcp.pins-kept',
      from: 'if (service === null) return createMemoryPins()',
      to: 'return createMemoryPins()',
    },
  ],
  'packages/server/src/store/governance/tool-pins.ts': [
    {
      breaks: 'mcp.pins-approved',
      from: 'and tool_name = ${approval.toolName} and changed_hash = ${approval.hash}',
      to: 'and tool_name = ${approval.toolName} and ${approval.hash} <> hash',
    },
  ],
}
