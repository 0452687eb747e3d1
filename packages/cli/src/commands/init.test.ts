import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileSchema } from '@countersign/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import type { Command } from '../terminal/command.js'
import { Unreadable, UsageError } from '../terminal/command.js'
import { init } from './init.js'
import { test as runStories } from './test.js'

let root: string
let tools: string
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'countersign-init-'))
  tools = join(root, 'tools.json')
  const parameters = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }
  writeFileSync(tools, JSON.stringify({ tools: [{ type: 'function', function: { name: 'find', parameters } }] }))
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

async function run(command: Command, ...args: string[]) {
  const printed: string[] = []
  const noted: string[] = []
  const code = await command.run(args, { print: (line) => printed.push(line), note: (line) => noted.push(line) })
  return { code, printed: printed.join('\n'), noted: noted.join('\n') }
}

describe('countersign init', () => {
  proves(['contract.init'], 'writes contracts, stories that pass and the schemas for editors', async () => {
    const folder = join(root, 'new', 'contracts')
    const { code, printed, noted } = await run(init, folder, '--tools', tools)
    expect([code, printed.split('\n').length]).toEqual([0, 3])
    expect(noted).toContain(`npx countersign test ${folder}`)
    expect(await run(runStories, folder)).toEqual({ code: 0, printed: '2 of 2 stories as expected', noted: '' })
    for (const [file, name] of [
      ['find.yaml', 'contract'],
      ['session.yaml', 'session'],
      ['tools.test.yaml', 'test'],
    ] as const) {
      const [, schema = ''] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(read(folder, file)) ?? []
      expect(JSON.parse(read(folder, schema))).toEqual(fileSchema(name))
    }
  })

  proves('contract.init.asks', 'says how many tools ask a person, and where their calls are blocked', async () => {
    const file = join(root, 'asking.json')
    writeFileSync(file, JSON.stringify([{ name: 'deploy' }, { name: 'frobnicate' }, { name: 'get_file' }]))
    const { noted } = await run(init, join(root, 'asking'), '--tools', file)
    expect(noted).toContain(
      '2 tools ask a person before running. Behind countersign gateway or countersign mcp they are blocked',
    )
    expect(read(join(root, 'asking'), 'deploy.yaml')).toContain(
      'behind countersign gateway or countersign mcp it is blocked',
    )
  })

  proves(['contract.init'], 'overwrites nothing, and leaves a folder that is not empty as it is', async () => {
    const folder = mkdtempSync(join(root, 'used-'))
    writeFileSync(join(folder, 'find.yaml'), 'tool: mine\n')
    const { code, noted } = await run(init, folder, '--tools', tools)
    expect([code, noted]).toEqual([1, `error ${folder} is not empty (it holds find.yaml): name a new folder`])
    expect(readdirSync(folder)).toEqual(['find.yaml'])
    expect(read(folder, 'find.yaml')).toBe('tool: mine\n')
    const { code: code2, noted: noted2 } = await run(init, tools, '--tools', tools)
    expect([code2, noted2]).toEqual([1, expect.stringContaining(`${tools} cannot be written`)])
  })

  test('says that a list of tools goes on', async () => {
    const file = join(root, 'page.json')
    writeFileSync(file, JSON.stringify({ result: { tools: [{ name: 'look' }], nextCursor: 'abc' } }))
    expect((await run(init, join(root, 'page'), '--tools', file)).noted).toContain('only the tools of this page')
  })

  test('definitions that cannot be read are named, and nothing is written', async () => {
    const folder = join(root, 'never')
    const broken = join(root, 'broken.json')
    for (const [text, problem] of [
      ['{', 'holds no JSON'],
      ['{"tools":[{"name":"a"},{"name":"a"}]}', 'names the tool "a" twice'],
      ['{"tools":[],"tools":[{"name":"a"}]}', 'holds no JSON'],
    ] as const) {
      writeFileSync(broken, text)
      const refused = run(init, folder, '--tools', broken)
      await expect(refused).rejects.toThrow(Unreadable)
      await expect(refused).rejects.toThrow(problem)
    }
    await expect(run(init, folder, '--tools', join(root, 'none.json'))).rejects.toThrow('cannot be read')
    expect(readdirSync(root)).not.toContain('never')
  })

  test('needs a folder and the tools', async () => {
    await expect(run(init, '--tools', tools)).rejects.toThrow(UsageError)
    await expect(run(init, 'a', 'b', '--tools', tools)).rejects.toThrow(UsageError)
    await expect(run(init, 'a')).rejects.toThrow('--tools FILE or -- COMMAND is required')
  })
})

const read = (folder: string, file: string): string => readFileSync(join(folder, file), 'utf8')
