import { readFileSync } from 'node:fs'
import { readSettings } from './base/settings.js'
import { describeService, describeSettings } from './process/describe-start.js'
import { type McpFlags, startMcp } from './process/run-mcp.js'
import { startGateway } from './process/start-gateway.js'

/** Settings by their flags, as typed. */
export type GatewayFlags = Readonly<Record<string, string | undefined>>

/** Runs the gateway in this process until a signal ends it. This file alone reads the environment. */
export async function runGateway(flags: GatewayFlags, say: (sentence: string) => void): Promise<void> {
  const settings = readSettings({ env: process.env, flags, readFile: (path) => readFileSync(path, 'utf8') })
  const ended = new Promise<void>((done) => {
    process.once('SIGTERM', () => done()).once('SIGINT', () => done())
  })
  const gateway = await startGateway(settings, {})
  const agent = settings.agent ?? 'AGENT'
  say(`the gateway is running at ${gateway.url}`)
  say(`  base URL of OpenAI clients:    ${gateway.url}/${agent}/openai/v1`)
  say(`  base URL of Anthropic clients: ${gateway.url}/${agent}/anthropic`)
  for (const line of describeSettings(settings)) say(line)
  say(await describeService(settings, globalThis.fetch))
  await ended
  say('finishing the requests in flight, then stopping')
  await gateway.close()
}

/** Runs an MCP server with every call of its tools judged, on standard input and output. Resolves to the exit code. */
export async function runMcp(
  flags: McpFlags,
  command: readonly [string, ...string[]],
  say: (sentence: string) => void,
): Promise<number> {
  const stop = new AbortController()
  process.once('SIGTERM', () => stop.abort()).once('SIGINT', () => stop.abort())
  const { env, stdin: input, stdout: output } = process
  return startMcp(flags, command, { say, env, input, output, signal: stop.signal })
}
