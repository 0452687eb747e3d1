import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { afterEach, expect, vi } from 'vitest'
import { proves } from '../../../../../test/support/proves.js'
import { createPasswords } from './passwords.js'

/** Named imports of a built-in module follow its own object once they are told to. */
function watch<Name extends 'timingSafeEqual' | 'scrypt'>(name: Name) {
  const spy = vi.spyOn(crypto, name)
  syncBuiltinESMExports()
  return spy
}
afterEach(() => {
  vi.restoreAllMocks()
  syncBuiltinESMExports()
})

proves(
  'auth.password.constant-time',
  'right, almost right and wrong passwords, and unknown accounts, cost the same hashing, and hashes are compared in constant time',
  async () => {
    const passwords = createPasswords({ cost: 10 })
    const stored = await passwords.hash('the right password')
    const [compared, hashed] = [watch('timingSafeEqual'), watch('scrypt')]
    const cases: [password: string, stored: string | null, isRight: boolean][] = [
      ['the right password', stored, true],
      ['the right passwore', stored, false],
      ['', stored, false],
      ['the right password', null, false],
    ]
    for (const [password, hash, isRight] of cases) {
      compared.mockClear()
      hashed.mockClear()
      expect(await passwords.verify(password, hash)).toBe(isRight)
      const sizes = compared.mock.calls.map(([a, b]) => [a.byteLength, b.byteLength])
      // With nothing to compare with, the work is done and the result is no.
      expect(sizes).toEqual(hash === null ? [] : [[32, 32]])
      expect(hashed.mock.calls.map(([, , length, { N }]) => [length, N])).toEqual([[32, 2 ** 10]])
    }
  },
)
