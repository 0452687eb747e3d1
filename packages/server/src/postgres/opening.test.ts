import { expect, test } from 'vitest'
import { createOpening } from './opening.js'

const HOST = { host: 'db2', port: 5433 }
const opened = (url: string) => createOpening(url, { statement_timeout: 0, jit: 'off' }).config(HOST)

test('a connection goes to the host that was chosen, with all else from the URL', () => {
  expect(opened('postgres://me:p%40ss@db1,db2:5433/c%20s')).toMatchObject({
    ...HOST,
    user: 'me',
    password: 'p@ss',
    database: 'c s',
    options: '-c statement_timeout=0 -c jit=off',
  })
  expect(opened('postgres:///cs?host=/run/postgresql')).toMatchObject({ host: '/run/postgresql', database: 'cs' })
})

test.each([
  ['', false],
  ['?sslmode=disable', false],
  ['?sslmode=prefer', { rejectUnauthorized: false }],
  ['?sslmode=require', { rejectUnauthorized: false }],
  ['?sslmode=verify-full', true],
])('TLS with "%s"', (query, ssl) => {
  expect(opened(`postgres://h/db${query}`)).toMatchObject({ ssl })
})

test('where TLS is only preferred, a server without it is connected to without', () => {
  const refused = new Error('The server does not support SSL connections')
  const preferring = createOpening('postgres://h/db?sslmode=prefer', {})
  expect(preferring.learnFrom(refused)).toBe(true)
  expect(preferring.config(HOST).ssl).toBe(false)
  expect(preferring.learnFrom(refused)).toBe(false)
  expect(createOpening('postgres://h/db?sslmode=require', {}).learnFrom(refused)).toBe(false)
})

test('a pooler that refuses settings gets none', () => {
  const opening = createOpening('postgres://h/db', { jit: 'off' })
  expect(opening.isPooled()).toBe(false)
  expect(opening.learnFrom(new Error('unsupported startup parameter: options'))).toBe(true)
  expect(opening.config(HOST)).not.toHaveProperty('options')
  expect(opening.isPooled()).toBe(true)
  expect(opening.learnFrom(new Error('unsupported startup parameter: other'))).toBe(false)
})
