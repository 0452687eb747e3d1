import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '@countersign/protocol'
import { z } from 'zod'
import { claudeHooks, claudeServer } from '../../../packages/sdk/src/adapters/claude/index.js'
import { openSession } from '../../../packages/sdk/src/index.js'
import { type LoopbackProvider, startProvider } from '../../support/provider/provider.js'
import type { AgentSession, Face, ModelRequest, Story } from '../story.js'
import { type ClaudeTool, driveHooks } from './claude-hooks.js'

const SERVER = 'story'
const PREFIX = `mcp__${SERVER}__`
/** The cases know the tools without their server. */
const toolName = (name: string): string => name.replace(PREFIX, '')

/** What is true of every agent that is governed by hooks. */
const seen = {
  lacks: { 'mixed-stream': 'the runtime shows an answer while it comes, before any hook' },
  judgesOnlyCalls: 'hooks stand before tools, not before the model',
  seesOneCallAtATime: 'the runtime runs a call as soon as it has read it, before the rest of the answer',
} as const

/** The hooks and tools of the adapter, called as the runtime was seen to call them: see `claude-hooks.ts`. */
export const claudeHooksFace: Face = {
  name: 'claude hooks',
  ...seen,
  open(story) {
    const session = openSession(story.options)
    const { hooks, server } = governed(session, story)
    const driven = driveHooks({ ...story, hooks, tools: server.tools, server: SERVER })
    return { session, run: driven.run, requests: driven.requests, close: () => session.close() }
  },
}

/** The Claude Agent SDK, as far as it is used here. */
export interface ClaudeSdk {
  query(given: object): AsyncIterable<{ readonly type: string }>
  createSdkMcpServer(server: object): object
}

/** The real runtime, asking a scripted model on loopback. */
export const claudeRuntimeFace = (load: () => Promise<ClaudeSdk>): Face => ({
  name: 'claude runtime',
  ...seen,
  async open(story) {
    const sdk = await load()
    const session = openSession(story.options)
    const { hooks, server } = governed(session, story)
    const provider = await scripted(story)
    const home = mkdtempSync(join(tmpdir(), 'countersign-claude-'))
    const options = () => ({
      hooks: { ...hooks, PreToolUse: [...hooks.PreToolUse, ...changing(story)] },
      cwd: home,
      tools: [],
      mcpServers: { [SERVER]: sdk.createSdkMcpServer(server) },
      allowedTools: [`mcp__${SERVER}`],
      settingSources: [],
      env: runtimeEnv(home, provider),
    })
    return {
      session,
      run: async () => {
        for await (const _ of sdk.query({ prompt: 'go on', options: options() }));
      },
      requests: () => provider.requests.map(requestOf),
      close: async () => {
        await session.close()
        await provider.close()
        rmSync(home, { recursive: true, force: true })
      },
    }
  },
})

/** The runtime asks the scripted model, and nobody else. */
export const runtimeEnv = (home: string, provider: LoopbackProvider): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOME: home,
  CLAUDE_CONFIG_DIR: home,
  ANTHROPIC_BASE_URL: provider.url,
  ANTHROPIC_API_KEY: 'sk-fake',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
})

function governed(session: AgentSession, { tools }: Story) {
  const made = Object.entries(tools).map(
    ([name, execute]): ClaudeTool => ({
      name,
      description: name,
      inputSchema: { amount: z.number().optional() },
      handler: async (args) => {
        const result = await execute(args as JsonObject, session)
        return { content: result === undefined ? [] : [{ type: 'text', text: JSON.stringify(result) }] }
      },
    }),
  )
  return {
    hooks: claudeHooks(session, { toolName }),
    server: claudeServer(session, { name: SERVER, tools: made, alwaysLoad: true }, { toolName }),
  }
}

/** Another hook of the program gives a tool other arguments than the model gave it. */
const changing = ({ changed, changedInPlace }: Story) => [
  {
    hooks: [
      async (_: object, toolUseId: string | undefined) => {
        const updatedInput = changed[toolUseId ?? ''] ?? changedInPlace[toolUseId ?? '']
        if (updatedInput === undefined) return {}
        return { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'allow', updatedInput } }
      },
    ],
  },
]

async function scripted({ turns }: Story): Promise<LoopbackProvider> {
  const provider = await startProvider()
  for (const [at, { calls = [], text, failures = 0 }] of turns.entries()) {
    for (let failed = 0; failed < failures; failed += 1) {
      provider.enqueue({ status: 503, error: { message: 'overloaded' }, headers: { 'retry-after-ms': '1' } })
    }
    provider.enqueue({
      ...(text !== undefined && { text }),
      calls: calls.map(({ id, name, args }) => ({ id, name: `${PREFIX}${name}`, arguments: args })),
      // Where two runs ask at once, the call of the first is judged before the second has its answer.
      delayMs: at * 200,
    })
  }
  return provider
}

interface Block {
  readonly type: string
  readonly tool_use_id?: string
}

function requestOf({ body }: LoopbackProvider['requests'][number]): ModelRequest {
  const { tools = [], messages = [] } = body as {
    tools?: readonly { readonly name: string }[]
    messages?: readonly { readonly content: unknown }[]
  }
  const blocks = messages.flatMap(({ content }) => (Array.isArray(content) ? (content as Block[]) : []))
  const results = blocks.filter(({ type }) => type === 'tool_result')
  return {
    offered: tools.filter(({ name }) => name.startsWith(PREFIX)).map(({ name }) => toolName(name)),
    results: Object.fromEntries(results.map((block) => [block.tool_use_id, JSON.stringify(block)])),
  }
}
