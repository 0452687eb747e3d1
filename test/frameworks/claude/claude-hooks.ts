import { randomUUID } from 'node:crypto'
import type { JsonObject } from '@countersign/protocol'
import type { claudeHooks } from '../../../packages/sdk/src/adapters/claude/index.js'
import { type ModelRequest, passedOn, type ScriptedCall, type Story } from '../story.js'

export interface ClaudeTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: object
  handler(args: never, extra: unknown): Promise<object>
}

interface Driven extends Pick<Story, 'turns' | 'changed' | 'changedInPlace'> {
  readonly hooks: ReturnType<typeof claudeHooks>
  readonly tools: readonly ClaudeTool[]
  /** The name of the server that has the tools. */
  readonly server: string
}

/** What the model reads of a call. */
interface Told {
  readonly response: unknown
  readonly input: JsonObject
}

/**
 * Calls hooks and tools in the order, and with what, `@anthropic-ai/claude-agent-sdk` 0.3.325 was seen to send for tools
 * of a server in the process that do not say that they only read: each call is asked about, run and reported before the
 * next; the answer as a whole after its last call. The same cases go through the runtime itself in long rounds.
 */
export function driveHooks({ hooks, tools, server, ...story }: Driven) {
  const answers = story.turns.flatMap((turn) => [...Array.from({ length: turn.failures ?? 0 }, () => null), turn])
  const requests: ModelRequest[] = []
  const offered = tools.map(({ name }) => name)
  let requestId = 1

  const runOnce = async () => {
    const query = { session_id: randomUUID(), transcript_path: '/nowhere.jsonl', cwd: '/', permission_mode: 'default' }
    const results: Record<string, string> = {}
    const tell = (event: keyof typeof hooks, id: string, about: object) =>
      hooks[event][0]?.hooks[0]?.({ ...query, hook_event_name: event, ...about }, id)

    const runCall = async ({ id, name, args }: ScriptedCall): Promise<Told> => {
      const tool_name = `mcp__${server}__${name}`
      const about = { tool_name, tool_input: args, tool_use_id: id, mcp_server: { name: server, source: 'sdk' } }
      const denied = reasonIn(await tell('PreToolUse', id, about))
      if (denied !== null) return { input: args, response: `PreToolUse:${tool_name} hook error: ${denied}` }
      const input = passedOn(story, id, args)
      const result = await resultOf(tools, name, input, {
        signal: new AbortController().signal,
        _meta: { 'claudecode/toolUseId': id, progressToken: ++requestId },
        requestId,
      })
      const ended = { ...about, tool_input: input, duration_ms: 1 }
      const { content, isError } = result
      if (isError === true) {
        const error = String((content[0] as { text?: string } | undefined)?.text)
        await tell('PostToolUseFailure', id, { ...ended, error, is_interrupt: false })
        return { input: args, response: error }
      }
      await tell('PostToolUse', id, { ...ended, tool_response: content })
      return { input: args, response: content.length === 0 ? `(${tool_name} completed with no output)` : content }
    }

    for (;;) {
      requests.push({ offered, results: { ...results } })
      const turn = answers.shift()
      if (turn === null) continue
      const { calls = [] } = turn ?? {}
      if (calls.length === 0) return
      const tool_calls: object[] = []
      for (const call of calls) {
        const { input, response } = await runCall(call)
        const tool_name = `mcp__${server}__${call.name}`
        tool_calls.push({ tool_name, tool_input: input, tool_use_id: call.id, tool_response: response })
        results[call.id] = JSON.stringify(response)
      }
      await tell('PostToolBatch', `hook-${randomUUID()}`, { tool_calls })
    }
  }
  return { run: runOnce, requests: () => requests }
}

function reasonIn(output: object | undefined): string | null {
  const { hookSpecificOutput: said } = (output ?? {}) as { hookSpecificOutput?: Record<string, string> }
  return said?.permissionDecision === 'deny' ? (said.permissionDecisionReason ?? '') : null
}

interface Result {
  readonly content: readonly unknown[]
  readonly isError?: boolean
}

/** A server of MCP makes a result of what a handler throws. */
async function resultOf(tools: readonly ClaudeTool[], name: string, input: object, extra: object): Promise<Result> {
  try {
    const handler = tools.find((tool) => tool.name === name)?.handler
    return (await handler?.(input as never, extra)) as Result
  } catch (error) {
    return { content: [{ type: 'text', text: (error as Error).message }], isError: true }
  }
}
