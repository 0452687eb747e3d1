import { expect, test } from 'vitest'
import { canonicalJson } from './canonical-json.js'
import { hashValue, saltedHash, sha256Hex } from './hash.js'

test('sha256Hex is SHA-256 of the UTF-8 text', () => {
  expect(sha256Hex('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  expect(sha256Hex('é')).toBe('4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c')
})

test('the order of keys and the spelling of a number do not change a hash', () => {
  expect(hashValue({ b: 1, a: [1.0, -0] })).toBe(hashValue(JSON.parse('{"a":[1,0],"b":1e0}')))
  expect(hashValue({ a: 1 })).not.toBe(hashValue({ a: '1' }))
})

test('a salted hash depends on the salt, and the border between salt and value is part of it', () => {
  expect(saltedHash('s', 1)).toBe(saltedHash('s', 1))
  expect(saltedHash('s', 1)).not.toBe(saltedHash('t', 1))
  expect(saltedHash('s', 1)).not.toBe(hashValue(1))
  expect(saltedHash('ab', 1)).not.toBe(saltedHash('a', 1))
  expect(saltedHash('1:a', 1)).not.toBe(saltedHash('1', 1))
})

test('what JSON cannot write has no canonical form', () => {
  expect(() => canonicalJson(Number.NaN)).toThrow()
  expect(() => canonicalJson('\ud800')).toThrow()
  expect(() => canonicalJson(undefined as unknown as null)).toThrow(TypeError)
})
