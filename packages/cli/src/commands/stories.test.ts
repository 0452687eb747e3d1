import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { docBlocks } from '../../../../test/support/files/doc-blocks.js'
import { proves } from '../../../../test/support/proves.js'
import { UsageError } from '../terminal/command.js'
import { test as command } from './test.js'

const EXAMPLE = fileURLToPath(new URL('../../../../examples/govern-refunds', import.meta.url))

const RULES_FOLDER = fileURLToPath(new URL('../../../../examples/rules', import.meta.url))
const RULES = readdirSync(RULES_FOLDER)
const QUOTED = docBlocks().filter(({ page, language }) => page === 'docs/guides/rules.md' && language === 'yaml')

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-stories-'))
  const hours = 'hours: { time_zone: UTC, allow: [{ days: mon-fri, from: "08:00", to: "18:00" }] }'
  writeFileSync(join(folder, 'pay.yaml'), `tool: pay\n${hours}\ncheckpoint: { reason: money }\n`)
  writeFileSync(join(folder, 'look.yaml'), 'tool: look\nside_effect: read\nlabels: { deny_when: [tainted] }\n')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function run(stories: string | null, ...args: string[]) {
  if (stories !== null) writeFileSync(join(folder, 'a.test.yaml'), stories)
  const printed: string[] = []
  const noted: string[] = []
  const code = await command.run(stories === null ? args : [folder, ...args], {
    print: (line) => printed.push(line),
    note: (line) => noted.push(line),
  })
  return { code, printed: printed.join('\n'), noted: noted.join('\n') }
}

const story = (...steps: string[]) =>
  `stories:\n  - name: one\n    steps:\n${steps.map((step) => `      - ${step}\n`).join('')}`

describe('countersign test', () => {
  proves(['contract.stories'], 'runs stories without a service, and the example passes', async () => {
    expect(await run(null, EXAMPLE)).toEqual({ code: 0, printed: '2 of 2 stories as expected', noted: '' })
  })

  describe.each(RULES)('the rule %s', (name) => {
    proves(['contract.rules-people-ask-for'], 'holds in its stories, as the page shows it', async () => {
      const { code, printed } = await run(null, join(RULES_FOLDER, name))
      expect([code, printed]).toEqual([0, expect.stringMatching(/^([1-3]) of \1 stories as expected$/)])
      for (const file of readdirSync(join(RULES_FOLDER, name))) {
        const [shown] = QUOTED.filter((block) => block.file === `examples/rules/${name}/${file}`)
        expect(shown?.text, file).toBe(readFileSync(join(RULES_FOLDER, name, file), 'utf8'))
      }
    })
  })

  test('the page quotes nothing else', () => {
    const files = RULES.flatMap((name) => readdirSync(join(RULES_FOLDER, name)))
    expect([RULES.length, QUOTED.length]).toEqual([25, files.length])
  })

  for (const [step, message] of [
    ['{ call: look, expect: block }', 'step 1: look expected block, got allow'],
    ['{ call: pay, expect: allow }', 'step 1: pay expected allow, got ask'],
    ['{ call: fly, expect: allow }', 'step 1: fly expected allow, got block (unmatched_tool_blocked: No contract'],
    ['{ call: fly, expect: block, reason: killed }', 'expected the reason killed, got unmatched_tool_blocked'],
    ['{ call: fly, expect: block, path: $.to }', 'expected a failure at $.to, got none'],
    ['{ call: look, expect: allow, hidden: [look] }', 'look is offered, expected to be hidden'],
  ] as const) {
    proves(['contract.stories'], `${step} fails`, async () => {
      const { code, printed } = await run(story(step))
      expect([code, printed]).toEqual([1, expect.stringContaining(message)])
      expect(printed).toContain('failed a.test.yaml: one')
    })
  }

  test('time, labels, people and failures are part of a story', async () => {
    const { code, printed } = await run(
      `${story(
        '{ call: pay, expect: ask }',
        '{ call: pay, at: "2026-11-16T07:59:00Z", expect: block, reason: forbidden_tool, hidden: [pay] }',
        '{ call: pay, at: "2026-11-16T08:00:00Z", expect: ask, answer: deny }',
        '{ call: look, expect: allow, fails: true }',
      )}  - { name: two, labels: [tainted], steps: [{ call: look, expect: block, hidden: [look] }] }\n`,
    )
    expect([code, printed]).toEqual([0, '2 of 2 stories as expected'])
  })

  proves('contract.stories', 'a person changes a call, where its checkpoint lets them', async () => {
    const bounds =
      'argument_value_invariants: [{ path: $.amount, gte: 10 }]\naggregates: [{ name: sum, path: $.amount, lte: 860 }]'
    const ask = 'ask: { edit: [{ path: $.amount, to: lower }] }'
    writeFileSync(
      join(folder, 'send.yaml'),
      `tool: send\nside_effect: financial\n${bounds}\ncheckpoint: { reason: money, when: [{ path: $.amount, gt: 100 }], ${ask} }\n`,
    )
    const send = (edited: string, more = '') =>
      `{ call: send, with: { amount: 450 }, expect: ask, edited: { amount: ${edited} }${more} }`
    // Only what ran counts: twice 450 would be too much.
    expect(await run(story(send('400'), send('50')))).toMatchObject({ code: 0, printed: '1 of 1 stories as expected' })
    for (const [step, message] of [
      [send('451'), 'send cannot be changed like that: $.amount may only be lower than 450'],
      [send('5'), 'send expected ask, got block (argument_value_mismatch: Correct'],
      ['{ call: pay, expect: ask, edited: { amount: 1 } }', 'no argument may be changed'],
    ] as const) {
      const { code, printed } = await run(story(step))
      expect([code, printed]).toEqual([1, expect.stringContaining(message)])
    }
    expect((await run(story('{ call: look, expect: allow, edited: {} }'))).noted).toContain('write `expect: ask`')
    rmSync(join(folder, 'send.yaml'))
  })

  test.each([
    ['stories: []', 'a.test.yaml:1'],
    [story('{ call: look }'), 'a.test.yaml:4 stories[0].steps[0].expect: the value is not one of'],
    [story('{ call: look, expect: allow, reasn: x }'), 'did you mean "reason"?'],
    [story('{ call: look, expect: allow, reason: killed }'), 'write `expect: block`'],
    ['stories: [', 'a.test.yaml'],
  ])('a file that is wrong is named with its line: %j', async (text, message) => {
    const { code, noted } = await run(text)
    expect([code, noted]).toEqual([1, expect.stringContaining(message)])
  })

  test('JUnit, JSON, and wrong usage', async () => {
    const file = join(folder, 'report.xml')
    const { code, printed } = await run(story('{ call: look, expect: block }'), '--json', '--junit', file)
    expect([code, JSON.parse(printed)]).toEqual([1, expect.objectContaining({ stories: 1, failed: 1 })])
    expect(readFileSync(file, 'utf8')).toContain('<failure message="step 1: look expected block, got allow">')
    await expect(run(null)).rejects.toThrow(UsageError)
    await expect(run(story('{ call: look, expect: allow }'), '--junit', '/nowhere/a.xml')).rejects.toThrow(
      'does not exist',
    )
  })

  test('--watch runs the stories again when a file changes', async () => {
    writeFileSync(join(folder, 'a.test.yaml'), story('{ call: look, expect: allow }'))
    const printed: string[] = []
    const watching = command.run([folder, '--watch'], {
      print: (line) => {
        printed.push(line)
        if (line.includes('0 of 1')) throw new Error('seen')
      },
      // The watcher is there when it says that it waits.
      note: () => writeFileSync(join(folder, 'a.test.yaml'), story('{ call: look, expect: block }')),
    })
    await expect(watching).rejects.toThrow('seen')
    expect(printed[0]).toBe('1 of 1 stories as expected')
    await expect(run(null, folder, '--watch', '--junit', join(folder, 'a.xml'))).rejects.toThrow(UsageError)
    await expect(run(null, join(folder, 'none'), '--watch')).rejects.toThrow(UsageError)
  })
})
