import { mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { init } from '../../../packages/cli/src/commands/init.js'
import { Unreadable, UsageError } from '../../../packages/cli/src/terminal/command.js'
import { root } from '../../support/files/tracked-files.js'
import { proves } from '../../support/proves.js'

const folder = mkdtempSync(join(tmpdir(), 'countersign-init-'))
const run = (...args: string[]) => init.run(args, { print: () => {}, note: () => {} })

proves('contract.init.server', 'a server of the official library is asked, and its tools are prefixed', async () => {
  const contracts = join(folder, 'contracts')
  const shop = join(root, 'test/frameworks/mcp/shop.mjs')
  expect(await run(contracts, '--server', 'shop', '--', process.execPath, shop)).toBe(0)
  const files = readdirSync(contracts)
  expect(files).toEqual(expect.arrayContaining(['shop__look.yaml', 'shop__pay.yaml']))
  expect(files).not.toContain('look.yaml')
})

proves('contract.init.server', 'a program that is no MCP server is named, and nothing is written', async () => {
  const contracts = join(folder, 'none')
  const command = ['--server', 'shop', '--', process.execPath, '-e', 'process.exit(3)']
  const failed = await run(contracts, ...command).catch((error: Error) => error)
  expect(failed).toBeInstanceOf(Unreadable)
  expect(String(failed)).toContain('gave no tools: it ended (exit code 3)')
  expect(readdirSync(folder)).not.toContain('none')
  for (const wrong of [
    [contracts, '--server', 'a__b', '--', 'x'],
    [contracts, '--', 'x'],
    [contracts, '--server', 'a'],
    [contracts, '--tools', 'f', '--server', 'a', '--', 'x'],
  ]) {
    await expect(run(...wrong)).rejects.toBeInstanceOf(UsageError)
  }
})
