import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Command, UsageError } from '../terminal/command.js'
import { compile } from './compile.js'
import { validate } from './validate.js'

let pack = ''
let broken = ''
const files: Record<string, string> = {}

const call = (args: string) => JSON.stringify({ tool_calls: [{ id: 'c', name: 'refund', arguments: args }] })

beforeAll(() => {
  pack = mkdtempSync(join(tmpdir(), 'countersign-cli-'))
  broken = mkdtempSync(join(tmpdir(), 'countersign-cli-'))
  writeFileSync(
    join(pack, 'refund.yaml'),
    'tool: refund\ncheckpoint: { reason: r, timeout_seconds: 1 }\nargument_value_invariants: [{ path: $.amount, lte: 500 }]\n',
  )
  writeFileSync(join(broken, 'refund.yaml'), 'tool: refund\nlabel: {}\n')
  const outside = mkdtempSync(join(tmpdir(), 'countersign-cli-'))
  for (const [name, text] of Object.entries({
    good: call('{"amount":5}'),
    bad: call('{"amount":501}'),
    twice: '{"a":1,"a":2}',
  })) {
    files[name] = join(outside, `${name}.json`)
    writeFileSync(files[name], text)
  }
  folders.push(pack, broken, outside)
})

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

async function run(command: Command, ...args: string[]) {
  const printed: string[] = []
  const noted: string[] = []
  const code = await command.run(args, { print: (line) => printed.push(line), note: (line) => noted.push(line) })
  return { code, printed: printed.join('\n'), noted: noted.join('\n') }
}

describe('countersign compile', () => {
  test('prints the plan, its hash and warnings', async () => {
    const { code, printed, noted } = await run(compile, pack)
    expect(code).toBe(0)
    expect(JSON.parse(printed)).toMatchObject({
      plan_version: 1,
      contracts: [{ tool: 'refund', side_effect: 'write' }],
    })
    expect(noted).toMatch(/^compiled_hash [0-9a-f]{64}\nwarning refund\.yaml:2 checkpoint\.timeout_seconds: /)
  })

  test('prints one JSON object with --json', async () => {
    const { code, printed, noted } = await run(compile, pack, '--json')
    expect([code, noted]).toEqual([0, ''])
    const result = JSON.parse(printed)
    expect(Object.keys(result).sort()).toEqual(['advisories', 'compiled_hash', 'compiled_session', 'ok', 'warnings'])
  })

  test('refuses with the file and line of every error', async () => {
    const { code, printed, noted } = await run(compile, broken)
    expect([code, printed]).toEqual([1, ''])
    expect(noted).toBe('error refund.yaml:2 label: unknown key "label" (did you mean "labels"?)')
    const json = await run(compile, broken, '--json')
    expect(json.code).toBe(1)
    expect(JSON.parse(json.printed)).toMatchObject({ ok: false, errors: [{ file: 'refund.yaml', line: 2 }] })
  })

  test('refuses a folder that does not exist', async () => {
    expect(await run(compile, join(pack, 'none'))).toMatchObject({ code: 1 })
  })

  test('needs one folder', async () => {
    await expect(run(compile)).rejects.toThrow(UsageError)
    await expect(run(compile, pack, broken)).rejects.toThrow(UsageError)
  })
})

describe('countersign validate', () => {
  test('passes a good response and fails a bad one', async () => {
    expect(await run(validate, files.good ?? '', '--contracts', pack)).toMatchObject({
      code: 0,
      printed: 'pass: 1 contract applied',
    })
    const bad = await run(validate, files.bad ?? '', '--contracts', pack)
    expect(bad.code).toBe(1)
    expect(bad.printed).toBe(
      'fail: 1 contract applied\n  refund.yaml: $.tool_calls[0].arguments.amount lte: must be a number of at most 500',
    )
  })

  test('prints the validation result with --json', async () => {
    const { code, printed } = await run(validate, files.bad ?? '', '--contracts', pack, '--json')
    expect(code).toBe(1)
    expect(JSON.parse(printed)).toMatchObject({
      pass: false,
      matched_contracts: 1,
      unmatched_tools: [],
      failures: [{ found: 501 }],
    })
  })

  test.each([
    ['a file that does not exist', () => ['none.json', '--contracts', pack]],
    ['JSON with a key twice', () => [files.twice ?? '', '--contracts', pack]],
    ['contracts that do not compile', () => [files.good ?? '', '--contracts', broken]],
  ])('refuses %s', async (_, args) => {
    const result = await run(validate, ...args())
    expect(result.code).toBe(1)
    expect(result.noted).toMatch(/^error /)
    expect(JSON.parse((await run(validate, ...args(), '--json')).printed)).toMatchObject({ pass: false })
  })

  test.each([
    [[]],
    [['x.json']],
    [['x.json', 'y.json', '--contracts', 'z']],
    [['x.json', '--contracts', 'z', '--unmatched', 'block']],
    [['x.json', '--contracts', 'z', '--unmatched-policy', 'deny']],
  ])('shows its usage for %j', async (args) => {
    await expect(run(validate, ...args)).rejects.toThrow(UsageError)
  })
})
