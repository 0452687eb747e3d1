import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as FirstHttpTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'

/** What the tests need of a client, whichever library it is of. */
export interface Host {
  readonly name: string
  /** Since 2026-07-28 lists do not depend on the session. */
  readonly isModern: boolean
  /** The server keeps a session for the host: it can be asked, and lists depend on what happened. */
  readonly hasSession: boolean
  readonly client: Pick<
    Client,
    'callTool' | 'listTools' | 'listResources' | 'readResource' | 'getPrompt' | 'complete' | 'close' | 'ping'
  >
  request(method: string): Promise<unknown>
  /** Calls a tool and leaves at the third sign of progress. */
  leave(tool: string): Promise<unknown>
  /** How often the server said that its tools have changed. */
  changes(): number
}

export interface Program {
  readonly command: string
  readonly args: string[]
  readonly env: Record<string, string>
}

const ANSWER = { action: 'accept', content: { size: 'xl' } } as const
const OPTIONS = { capabilities: { elicitation: {} } }
const loose = { '~standard': { version: 1 as const, vendor: 'test', validate: (value: unknown) => ({ value }) } }

function leavingOptions() {
  const leaving = new AbortController()
  let progress = 0
  return { signal: leaving.signal, onprogress: () => void (++progress === 3 && leaving.abort()) }
}

async function secondHost(
  name: string,
  mode: 'legacy' | { pin: string },
  transport: Parameters<Client['connect']>[0],
  hasSession = mode === 'legacy',
) {
  const client = new Client({ name, version: '1' }, { ...OPTIONS, versionNegotiation: { mode } })
  client.setRequestHandler('elicitation/create', async () => ANSWER)
  let changes = 0
  client.setNotificationHandler('notifications/tools/list_changed', () => void changes++)
  await client.connect(transport)
  const request = (method: string) => client.request({ method, params: {} }, loose)
  const leave = (tool: string) => client.callTool({ name: tool, arguments: {} }, leavingOptions())
  return {
    name,
    isModern: mode !== 'legacy',
    hasSession,
    client,
    request,
    leave,
    changes: () => changes,
  } satisfies Host
}

async function firstHost(name: string, transport: Parameters<FirstClient['connect']>[0]): Promise<Host> {
  const client = new FirstClient({ name, version: '1' }, OPTIONS)
  client.setRequestHandler(ElicitRequestSchema, async () => ANSWER)
  let changes = 0
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void changes++)
  await client.connect(transport)
  const { z } = await import('zod')
  const request = (method: string) => client.request({ method, params: {} }, z.looseObject({}) as never)
  const leave = (tool: string) => client.callTool({ name: tool, arguments: {} }, undefined, leavingOptions())
  return { name, isModern: false, hasSession: true, client: client as never, request, leave, changes: () => changes }
}

/** One client of each kind, each with a process of its own. */
export const hostsOf = (program: (name: string) => Program): Promise<Host[]> =>
  Promise.all([
    secondHost('client 2, sessions of 2025', 'legacy', new StdioClientTransport(program('legacy'))),
    secondHost('client 2, 2026-07-28', { pin: '2026-07-28' }, new StdioClientTransport(program('modern'))),
    firstHost('client 1', new FirstTransport(program('first'))),
  ])

/** The same over HTTP, and one of 2025 whose server keeps no sessions. */
export function httpHostsOf(
  address: (server: 'shop' | 'till') => URL,
  headers: (more?: Record<string, string>) => Record<string, string>,
): Promise<Host[]> {
  const transport = (server: 'shop' | 'till') =>
    new StreamableHTTPClientTransport(address(server), { requestInit: { headers: headers() } })
  const first = new FirstHttpTransport(address('till'), { requestInit: { headers: headers() } })
  return Promise.all([
    secondHost('client 2, sessions of 2025', 'legacy', transport('till')),
    secondHost('client 2, 2025 without sessions', 'legacy', transport('shop'), false),
    secondHost('client 2, 2026-07-28', { pin: '2026-07-28' }, transport('shop')),
    firstHost('client 1', first as never),
  ])
}
