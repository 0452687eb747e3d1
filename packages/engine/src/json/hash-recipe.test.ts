import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { saltedHash } from './hash.js'

proves('turn.receipt.hash-recipe', 'the example of the reference can be made with SHA-256 alone', () => {
  const page = readFileSync('docs/reference/hashes.md', 'utf8')
  const row = (name: string) => new RegExp(`\\| ${name} \\| \`(.*)\` \\|`).exec(page)?.[1] ?? ''
  const text = row('hashed text')
  expect(row('hash')).toBe(createHash('sha256').update(text, 'utf8').digest('hex'))
  const [, length, salt = '', json = ''] = /^(\d+):(.*?):(.*)$/.exec(text) ?? []
  expect([salt, Number(length)]).toEqual([row('salt'), salt.length])
  expect(saltedHash(salt, JSON.parse(json))).toBe(row('hash'))
})
