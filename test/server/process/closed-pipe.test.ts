import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { root } from '../../support/files/tracked-files.js'
import { buildOnce } from '../../support/process/command-line.js'
import { proves } from '../../support/proves.js'
import { LOOKUP, openSession } from '../../support/runtime/governed-session.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

buildOnce()
const { runtime, api } = await withRuntime()
const url = await runtime.instances[0].listen()
const session = await openSession(api)
await session.decide([LOOKUP])
const ledger = await exportOf(api, session.sessionId)
const broken = join(mkdtempSync(join(tmpdir(), 'countersign-pipe-')), 'broken.json')
writeFileSync(broken, JSON.stringify({ ...ledger, events: ledger.events.slice(1) }))

/** The exit code, and what stands on the other output, of a command whose output is closed before it writes. */
async function unread(args: readonly string[], closed: 'stdout' | 'stderr') {
  const child = spawn(process.execPath, [`${root}packages/cli/dist/main.js`, ...args], {
    env: { PATH: process.env.PATH, COUNTERSIGN_API_KEY: runtime.key, COUNTERSIGN_API_URL: url },
  })
  child[closed].destroy()
  let said = ''
  child[closed === 'stdout' ? 'stderr' : 'stdout'].on('data', (chunk) => {
    said += String(chunk)
  })
  const [code] = await once(child, 'close')
  return [code, said]
}

proves('cli.closed-pipe', 'the result stands, and nothing is said', async () => {
  for (const args of [['verify', session.sessionId], ['session', 'list'], ['schema'], ['help']]) {
    expect([args, ...(await unread(args, 'stdout'))]).toEqual([args, 0, ''])
  }
  const [code, said] = await unread(['verify', broken], 'stdout')
  expect(code).toBe(1)
  expect(said).not.toMatch(/EPIPE|\bat .*:\d+/)
  expect(await unread(['nosuch'], 'stderr')).toEqual([2, ''])
})
