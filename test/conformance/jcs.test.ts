import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { canonicalJson } from '@countersign/engine'
import { expect, test } from 'vitest'
import { describeShared } from '../support/data/describe-shared.js'

describeShared('RFC 8785 canonical JSON', 'conformance/jcs', (folder) => {
  const names = readdirSync(join(folder, 'input'))

  test('the suite has its six documents', () => expect(names).toHaveLength(6))

  test.each(names)('%s', (name) => {
    const input = JSON.parse(readFileSync(join(folder, 'input', name), 'utf8'))
    const output = readFileSync(join(folder, 'output', name), 'utf8')
    const bytes = readFileSync(join(folder, 'outhex', name.replace('.json', '.txt')), 'utf8')
    const canonical = canonicalJson(input)
    expect(canonical).toBe(output)
    expect(Buffer.from(canonical).toString('hex')).toBe(bytes.replaceAll(/\s/g, ''))
    expect(canonicalJson(JSON.parse(canonical))).toBe(canonical)
  })
})
