import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { expect } from 'vitest'
import { root } from '../../support/files/tracked-files.js'
import { buildOnce } from '../../support/process/command-line.js'
import { proves } from '../../support/proves.js'

buildOnce()

const folder = mkdtempSync(join(tmpdir(), 'countersign-mcp-'))
writeFileSync(join(folder, 'die.json'), JSON.stringify({ tool: 'die', side_effect: 'read' }))

/** Its tool ends it. */
const SERVER = `
  const tools = [{ name: 'die', inputSchema: { type: 'object' } }]
  const serverInfo = { name: 'mortal', version: '1' }
  require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    if (method === 'tools/call') process.exit(3)
    const opened = { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo }
    const result = method === 'initialize' ? opened : { tools }
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })`

const args = [
  ...[`${root}packages/cli/dist/main.js`, 'mcp', '--agent', 'coder', '--contracts', folder],
  ...['--', process.execPath, '-e', SERVER],
]
const env = { PATH: process.env.PATH ?? '' }

proves('mcp.dead-server', 'a host hears that its server is gone: its next call fails at once', async () => {
  const host = new Client({ name: 'host', version: '1' })
  const transport = new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' })
  const closed = new Promise<void>((resolve) => {
    host.onclose = () => resolve()
  })
  await host.connect(transport)
  expect(await host.callTool({ name: 'die' })).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('exit code 3') }],
  })
  await closed
  await expect(host.callTool({ name: 'die' })).rejects.toThrow(/not connected/i)
})

/** The end of the process, while the host holds its input open. */
async function endAfter(how: (child: ReturnType<typeof spawn>) => void) {
  const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'ignore'] })
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  const ended = once(child, 'close')
  child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })}\n`)
  await once(lines, 'line')
  how(child)
  return (await ended)[0]
}

proves('mcp.dead-server', 'the process ends with its server, as a failure', async () => {
  const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'die', arguments: {} } }
  expect(await endAfter(({ stdin }) => stdin?.write(`${JSON.stringify(call)}\n`))).toBe(1)
})

proves('mcp.dead-server', 'a signal ends the process and its server', async () => {
  expect(await endAfter((child) => child.kill('SIGTERM'))).toBe(0)
})
