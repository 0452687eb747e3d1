import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plan } from '../../../packages/cli/src/commands/plan.js'
import { run } from '../../../packages/cli/src/commands/run.js'
import type { Command } from '../../../packages/cli/src/terminal/command.js'
import { batchOf, mailConversation } from '../../support/data/captures.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

let folder: string
let service: string[]
const { runtime } = await withRuntime()
beforeAll(async () => {
  service = ['--url', await runtime.instances[0].listen(), '--key', runtime.key]
  folder = mkdtempSync(join(tmpdir(), 'pack-'))
  mkdirSync(join(folder, 'contracts'))
  mkdirSync(join(folder, 'fixtures'))
  writeFileSync(
    join(folder, 'contracts', 'pay.yaml'),
    'tool: pay\nargument_value_invariants: [{ path: $.amount, lte: 10 }]\n',
  )
  fixture('good', 5)
  fixture('bad <&>', 50)
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
})

function fixture(name: string, amount: number): void {
  const session = { name, turns: [{ calls: [{ name: 'pay', arguments: { amount } }] }] }
  writeFileSync(join(folder, 'fixtures', `${amount}.json`), JSON.stringify(session))
}

async function execute(command: Command, ...args: string[]) {
  const printed: string[] = []
  const noted: string[] = []
  const code = await command.run([...args, ...service], {
    print: (line) => printed.push(line),
    note: (line) => noted.push(line),
  })
  return { code, printed: printed.join('\n'), noted: noted.join('\n') }
}

describe('countersign plan', () => {
  const scope = ['--agent', 'payer', '--environment', 'staging']

  test('diff tells what would change and keeps nothing; submit makes a draft', async () => {
    const diff = await execute(plan, 'diff', folder, ...scope)
    expect(diff.code).toBe(0)
    expect(diff.printed).toContain('blocks  pay has its first contract: calls that break it are blocked')
    expect(diff.printed).toContain('payer has no current plan in staging: everything is new')
    const query = { agent: 'payer', environment: 'staging' }
    expect((await runtime.api().lookupPlan({ query })).body.status).toBe('none')
    const submit = await execute(plan, 'submit', folder, ...scope)
    expect([submit.code, submit.printed.split('\n')[0]]).toEqual([
      0,
      expect.stringMatching(/^draft plan_\S+ \([0-9a-f]{64}\)$/),
    ])
    expect(submit.printed).toMatch(/approve or reject it at http:\S+\/plans\/plan_\S+$/)
    expect((await runtime.api().lookupPlan({ query })).body.status).toBe('draft')
  })

  test('refuses a service that does not know the key, and wrong usage', async () => {
    await expect(plan.run(['diff', folder], { print: () => {}, note: () => {} })).rejects.toThrow('--agent NAME')
    const wrong = await plan.run(['diff', folder, ...scope, '--url', service[1] ?? '', '--key', 'nothing'], {
      print: () => {},
      note: () => {},
    })
    expect(wrong).toBe(1)
  })
})

describe('countersign run', () => {
  test('fails CI on the first divergence of a fixture, and writes JUnit', async () => {
    const junit = join(folder, 'report.xml')
    const result = await execute(run, folder, '--fixtures', join(folder, 'fixtures'), '--junit', junit)
    expect(result.code).toBe(1)
    expect(result.printed).toContain('1 of 2 sessions as expected (50.0 %)')
    expect(result.printed).toContain('bad <&>: turn 1, call 1: pay expected allow, was block (argument_value_mismatch)')
    const xml = readFileSync(junit, 'utf8')
    expect(xml).toContain('<testsuite name="countersign run" tests="2" failures="1" errors="0">')
    expect(xml).toContain('name="bad &lt;&amp;&gt;"')
  })

  test('says what it could not do in words, and in JUnit where that was asked for', async () => {
    const junit = join(folder, 'failed.xml')
    const away = ['--url', 'http://127.0.0.1:9', '--key', 'none', '--junit', junit]
    const noted: string[] = []
    const terminal = { print: () => {}, note: (line: string) => noted.push(line) }
    expect(await run.run([folder, '--agent', 'mailer', ...away], terminal)).toBe(1)
    expect(noted.join()).toContain('error http://127.0.0.1:9 cannot be reached')
    expect(readFileSync(junit, 'utf8')).toContain('tests="1" failures="0" errors="1"')
    const nowhere = join(folder, 'no', 'such')
    await expect(execute(run, folder, '--fixtures', nowhere)).rejects.toThrow(
      `--fixtures: the folder ${nowhere} does not exist`,
    )
    await expect(execute(run, folder, '--agent', 'a', '--junit', join(nowhere, 'x.xml'))).rejects.toThrow('--junit')
  })

  test('does not pass for an agent of which nothing was captured', async () => {
    const junit = join(folder, 'nothing.xml')
    const result = await execute(run, folder, '--agent', 'tpyo', '--junit', junit)
    expect([result.code, result.noted]).toEqual([
      1,
      expect.stringContaining('no captured session of tpyo has arguments'),
    ])
    expect(readFileSync(junit, 'utf8')).toContain('there were no sessions to check')
  })

  test('tells what the rules could not judge, and how far a run is', async () => {
    const strict = mkdtempSync(join(tmpdir(), 'pack-'))
    for (const tool of ['find_person', 'send_mail']) {
      writeFileSync(
        join(strict, `${tool}.yaml`),
        `tool: ${tool}\nassertions: { input_invariants: [{ path: $.model, exists: true }] }\n`,
      )
    }
    await runtime.api().ingestCaptures(batchOf(mailConversation('teller', 'Ann')))
    const result = await execute(run, strict, '--agent', 'teller')
    rmSync(strict, { recursive: true })
    expect(result.code).toBe(0)
    expect(result.printed).toContain('not checked, because the data they need is missing: input_invariants of 2 calls')
    expect(result.noted).toMatch(/: (queued|running), 0 sessions checked/)
  })

  test('waits for a run over captured sessions', async () => {
    await runtime.api().ingestCaptures(batchOf(mailConversation('mailer', 'Ann')))
    const result = await execute(run, folder, '--agent', 'mailer', '--json')
    expect(result.code).toBe(1)
    expect(JSON.parse(result.printed).report.would_block).toEqual({ unmatched_tool_blocked: 2 })
    expect((await execute(run, folder, '--agent', 'mailer', '--unmatched', 'allow')).code).toBe(0)
  })
})
