import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { StopAgentReply } from '@countersign/protocol'
import { afterEach, expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { agent } from './agent.js'

let server: Server | null = null
afterEach(() => server?.close())

/** Runs the command against a server that gives these answers, one after another. */
async function stop(answers: readonly (Partial<StopAgentReply> | number)[], ...args: string[]) {
  const left = [...answers]
  const asked: unknown[] = []
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    asked.push(JSON.parse(Buffer.concat(chunks).toString()))
    const answer = left.shift() ?? {}
    response.writeHead(typeof answer === 'number' ? answer : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ killed: [], failed: [], more: false, idle: 0, similar: null, ...(answer as object) }))
  })
  await new Promise<void>((listening) => server?.listen(0, '127.0.0.1', listening))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const printed: string[] = []
  const noted: string[] = []
  const code = await agent.run(['stop', 'payer', '--url', url, '--key', 'k', ...args], {
    print: (line) => printed.push(line),
    note: (line) => noted.push(line),
  })
  return { code, printed: printed.join('\n'), noted: noted.join('\n'), asked }
}

const FAILED = [{ session_id: 's-9', problem: 'busy' }]

proves(['cli.agent-stop'], 'asks until nothing is left, and names what could not be killed', async () => {
  const { code, printed, noted, asked } = await stop(
    [{ killed: ['a', 'b'], more: true }, 429, { killed: ['c'] }, { killed: ['d'] }, {}],
    '--reason',
    'why',
  )
  expect([code, printed, noted]).toEqual([0, 'killed 4 sessions of payer', ''])
  expect(asked).toEqual(Array.from({ length: 5 }, () => ({ agent: 'payer', all: false, reason: 'why' })))
  const some = await stop([{ killed: ['a'], failed: FAILED }])
  expect([some.code, some.printed]).toEqual([1, 'killed 1 session of payer'])
  expect(some.noted).toBe('error s-9 could not be killed: busy\nrun the command again: what is killed stays killed')
})

test('says what was killed before the server failed, or could not go on', async () => {
  const away = await stop([{ killed: ['a'], more: true }, 503], '--json')
  expect(away.code).toBe(1)
  expect(JSON.parse(away.printed)).toMatchObject({ killed: ['a'], error: expect.stringContaining('answered 503') })
  const stuck = await stop([{ failed: FAILED, more: true }])
  expect([stuck.code, stuck.noted]).toEqual([1, expect.stringContaining('error not every session could be tried')])
})
