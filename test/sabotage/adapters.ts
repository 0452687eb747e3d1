import type { Bugs } from './sabotages.js'

/** What an agent of a framework meets: every call judged, none shown before, a receipt of each run. */
export const adapterSabotages: Bugs = {
  'packages/sdk/src/adapters/ai/govern-stream.ts': [
    {
      breaks: 'face.ai',
      from: "if (held === null && value.type.startsWith('tool-')) held = []",
      to: "if (held === null && value.type === 'tool-call') held = []",
    },
  ],
  'packages/sdk/src/adapters/langchain/index.ts': [
    {
      breaks: 'face.langchain',
      from: 'if (!run.ran) return told(request, handler, String(run.result))',
      to: 'if (!run.ran) return handler(request)',
    },
  ],
  'packages/sdk/src/adapters/langchain/ask-by-interrupt.ts': [
    {
      breaks: 'face.approvals',
      from: "if (given.decision === 'approve') return decidedBy",
      to: 'if (given.decision !== undefined) return decidedBy',
    },
  ],
  'packages/sdk/src/adapters/openai-agents/govern-model.ts': [
    {
      breaks: 'face.openai-agents',
      from: '} else if (held.length > 0 || showsCall(event)) held.push(event)',
      to: '} else if (held.length > 0) held.push(event)',
    },
  ],
  'packages/sdk/src/adapters/openai-agents/watch-invocation.ts': [
    {
      breaks: 'face.openai-agents.versions',
      from: '(symbolOf(given, PARSED) !== undefined && symbolOf(given, POLICY) !== undefined)',
      to: '(symbolOf(given, PARSED) !== undefined || symbolOf(given, POLICY) !== undefined)',
    },
  ],
  'packages/sdk/src/adapters/openai-agents/index.ts': [
    {
      breaks: 'face.handoffs',
      from: 'if (from.from === to) return void (await from.session.completeHandoff())',
      to: 'if (from.from === to) return',
    },
  ],
  'packages/sdk/src/adapters/claude/index.ts': [
    {
      breaks: 'face.claude',
      from: "const outcome = isOther ? 'unknown' : hook_event_name",
      to: 'const outcome = hook_event_name',
    },
    {
      breaks: 'face.claude',
      from: "if (verdict.verdict === 'block') return output('deny', verdict.result)",
      to: "if (verdict.verdict === 'block') return output('ask', verdict.result)",
    },
    {
      breaks: 'face.claude',
      from: "return output('deny', `${call.name} did not run",
      to: "return output('ask', `${call.name} did not run",
    },
    {
      breaks: 'face.claude',
      from: 'if (!batches.isOpen(callId)) continue',
      to: 'if (batches.isOpen(callId)) continue',
    },
    {
      breaks: 'face.claude',
      from: 'const isToldHere = !wasHandled(session, callId) && batches.isOpen(callId)',
      to: 'const isToldHere = batches.isOpen(callId)',
    },
  ],
  'packages/sdk/src/session/call-batches.ts': [
    {
      breaks: 'face.claude',
      from: 'if (isPassedBy) isOver(id)',
      to: 'if (!isPassedBy) isOver(id)',
    },
    {
      breaks: 'face.claude',
      from: 'while (isJudging || [...running.values()].some(({ isPassedBy }) => !isPassedBy)) await changed.promise',
      to: 'if (isJudging) await changed.promise',
    },
  ],
  'packages/sdk/src/adapters/claude/claude-server.ts': [
    {
      breaks: 'face.claude',
      from: 'return run.ran && result !== null ? result : failedResult(String(run.result))',
      to: 'return run.ran && result !== null ? result : tool.handler(args as never, given)',
    },
    {
      breaks: 'face.claude',
      from: 'isDeepStrictEqual(args, judged) ? args : await parsed(tool.inputSchema, judged)',
      to: 'args',
    },
  ],
  'packages/sdk/src/adapters/claude/tool-result.ts': [
    {
      breaks: 'face.claude',
      from: 'if (result.isError === true) throw new ToolFailed(result)',
      to: 'if (result.isError === false) throw new ToolFailed(result)',
    },
  ],
  'packages/sdk/src/session/workflow.ts': [
    {
      breaks: 'face.sub-agents',
      from: 'await joined.completeHandoff().finally(() => joined.close())',
      to: 'await joined.close()',
    },
  ],
  'packages/sdk/src/clients/api-promise.ts': [
    {
      breaks: 'session.client.runners',
      from: 'const options = { stream: isClientStream(data) }',
      to: 'const options = {}',
    },
  ],
}
