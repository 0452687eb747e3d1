import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { type McpFlags, startMcp } from '../../../packages/gateway/src/process/run-mcp.js'
import type { Runtime } from '../runtime/runtime.js'

/** A host that starts a server through `countersign mcp`, in this process. */
export interface StdioHost {
  call(name: string, args: object): Promise<string>
  /** What the operator was told. */
  readonly said: readonly string[]
  /** Ends the session as a host does; resolves to the exit code. */
  close(): Promise<number>
}

/** A server of a few lines: each call of a tool says that it is done. */
const SERVER = `
  const tools = JSON.parse(process.env.TOOLS)
  require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    const text = JSON.stringify({ done: params?.name })
    const result = method === 'tools/list' ? { tools } : { content: [{ type: 'text', text }] }
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })`

export function stdioHost(
  { fetch }: Pick<Runtime, 'fetch'>,
  key: string,
  flags: McpFlags,
  tools: readonly object[],
): StdioHost {
  const [input, output, said] = [new PassThrough(), new PassThrough(), [] as string[]]
  const waiting = new Map<unknown, (text: string) => void>()
  createInterface({ input: output }).on('line', (line) => {
    const { id, result, error } = JSON.parse(line)
    waiting.get(id)?.(result?.content?.[0]?.text ?? error?.message ?? '')
  })
  const ended = startMcp(flags, [process.execPath, '-e', SERVER], {
    say: (sentence) => said.push(sentence),
    fetch,
    env: { COUNTERSIGN_API_KEY: key, TOOLS: JSON.stringify(tools) },
    input,
    output,
    signal: new AbortController().signal,
  })
  ended.catch((error) => said.push(String(error)))
  let next = 0
  return {
    said,
    call: (name, args) =>
      new Promise((resolve) => {
        const id = ++next
        waiting.set(id, resolve)
        input.write(
          `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } })}\n`,
        )
      }),
    close() {
      input.end()
      return ended
    },
  }
}
