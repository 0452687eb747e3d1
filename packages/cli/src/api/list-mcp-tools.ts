import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { JsonObject, JsonValue } from '@countersign/protocol'

const PATIENCE_MS = 30_000
const MOST_PAGES = 100
const HELLO = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'countersign', version: '0.1.0' } }
const NOT_FOUND = { code: -32601, message: 'countersign init only lists the tools' }

type Ask = (method: string, params: JsonObject) => Promise<JsonObject>

/** Starts an MCP server on standard input and output, asks it for all its tools, and stops it. */
export async function listMcpTools([program = '', ...args]: readonly string[]): Promise<JsonObject[]> {
  const server = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const write = (message: JsonObject): void => {
    server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }
  // What cannot be written any more is told by the end of the server.
  server.stdin.on('error', () => {})
  const waiting = new Map<number, (response: JsonObject) => void>()
  createInterface({ input: server.stdout }).on('line', (line) => {
    const message = parsed(line)
    if (typeof message.method === 'string' && message.id !== undefined) {
      return write({ id: message.id, ...(message.method === 'ping' ? { result: {} } : { error: NOT_FOUND }) })
    }
    if (typeof message.id === 'number') waiting.get(message.id)?.(message)
  })
  const ask: Ask = async (method, params) => {
    const id = waiting.size + 1
    const answer = new Promise<JsonObject>((resolve) => waiting.set(id, resolve))
    write({ id, method, params })
    const { result, error } = await answer
    if (isObject(result)) return result
    throw new Error(`${method} failed: ${isObject(error) ? error.message : 'its answer has no result'}`)
  }
  try {
    return await Promise.race([allTools(ask, write), ended(server)])
  } finally {
    server.stdin.end()
    server.kill()
  }
}

async function allTools(ask: Ask, write: (message: JsonObject) => void): Promise<JsonObject[]> {
  await ask('initialize', HELLO)
  write({ method: 'notifications/initialized' })
  const tools: JsonObject[] = []
  let params: JsonObject = {}
  for (let page = 0; page < MOST_PAGES; page++) {
    const { tools: listed, nextCursor: cursor } = await ask('tools/list', params)
    if (Array.isArray(listed)) tools.push(...listed.filter(isObject))
    if (typeof cursor !== 'string') return tools
    params = { cursor }
  }
  throw new Error(`its list of tools has more than ${MOST_PAGES} pages`)
}

function ended(server: ChildProcess): Promise<never> {
  return new Promise((_, reject) => {
    server.once('error', reject)
    server.once('exit', (code, signal) => reject(new Error(`it ended (${signal ?? `exit code ${code}`})`)))
    setTimeout(() => reject(new Error(`it gave no answer in ${PATIENCE_MS / 1_000} s`)), PATIENCE_MS).unref()
  })
}

function parsed(line: string): JsonObject {
  try {
    const message: unknown = JSON.parse(line)
    return isObject(message) ? message : {}
  } catch {
    return {}
  }
}

const isObject = (value: unknown): value is Record<string, JsonValue> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
