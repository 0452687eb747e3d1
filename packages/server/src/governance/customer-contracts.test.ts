import { compilePlan } from '@countersign/engine'
import { expect, test } from 'vitest'
import { asCustomer, customerContracts } from './customer-contracts.js'

const toolsOf = async (texts: readonly string[]) => {
  const files = texts.map((text, at) => ({ file: `contracts/${at}.yaml`, text }))
  const pack = compilePlan({ contracts: files })
  if (!pack.ok) throw new Error('the files do not compile')
  return customerContracts(files, { contractFiles: [...pack.contractFiles] }).map(({ toolName }) => toolName)
}

test("a contract that says that it was inferred is not a person's, however it is written", async () => {
  expect(
    await toolsOf([
      'tool: a\nside_effect: read\n',
      'tool: b\nsource: inferred\n',
      '{"tool":"c","source":"inferred"}',
      '{\n  "tool": "d",\n  "source": "inferred"\n}',
      '# source: inferred\ntool: e\nsource: customer\n',
      'tool: f\nlabels:\n  adds: [x]\n# as learned,\n# source: inferred\n',
    ]),
  ).toEqual(['a', 'e', 'f'])
})

test.each([
  ['source: inferred', 'source: customer'],
  ['  "source" : "inferred",', '  "source" : "customer",'],
  ['{"tool":"a","source":"inferred"}', '{"tool":"a","source":"customer"}'],
])('what a person edits is theirs: %s', (line, theirs) => {
  expect(asCustomer({ file: 'a.yaml', text: `\n${line}\n` }).text).toBe(`\n${theirs}\n`)
})

test('a megabyte of empty lines is read in no time', async () => {
  const text = `tool: a\n${'\n'.repeat(1_000_000)}`
  const before = performance.now()
  asCustomer({ file: 'a.yaml', text })
  expect(performance.now() - before).toBeLessThan(5_000)
})
