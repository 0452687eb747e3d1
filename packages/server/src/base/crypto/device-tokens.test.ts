import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createDeviceTokens } from './device-tokens.js'

const OLD = 'an older signing key of 32 letters and more'
const NEW = 'a newer signing key of 32 letters and more'

test('a browser is known for the account that it was issued for, also under an older key', () => {
  const token = createDeviceTokens([OLD], randomBytes).issue('ada@example.test')
  const devices = createDeviceTokens([NEW, OLD], randomBytes)
  expect(devices.read(token, 'ada@example.test')).toBe(token.slice(0, 22))
  expect(devices.read(token, 'eve@example.test')).toBeNull()
  expect(createDeviceTokens([NEW], randomBytes).read(token, 'ada@example.test')).toBeNull()
})

test('what nobody issued is nobody', () => {
  const devices = createDeviceTokens([NEW], randomBytes)
  const token = devices.issue('ada@example.test')
  const [id, signature] = token.split('.')
  const wrong = ['', '.', `${id}.`, `.${signature}`, `${'a'.repeat(22)}.${signature}`, `${token}a`, `${token}.${token}`]
  for (const given of wrong) expect(devices.read(given, 'ada@example.test')).toBeNull()
  expect(devices.issue('ada@example.test')).not.toBe(token)
})
