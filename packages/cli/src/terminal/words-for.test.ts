import { expect, test } from 'vitest'
import { UsageError } from './command.js'
import { wordsFor } from './words-for.js'

const failed = (code: string, message: string) => Object.assign(new Error(message), { code })

test.each([
  ['28P01', 'password authentication failed for user "app"', 'check name and password in DATABASE_URL'],
  ['3D000', 'database "app" does not exist', 'make the database first'],
  ['42501', 'permission denied for schema public', 'make it the owner of the database'],
  ['ENOTFOUND', 'getaddrinfo ENOTFOUND db.invalid', 'there is no host of that name'],
  ['ECONNRESET', 'Client network socket disconnected before secure TLS connection was established', 'sslmode'],
  ['CONNECT_TIMEOUT', 'write CONNECT_TIMEOUT 127.0.0.1:5432', 'no PostgreSQL answers there'],
  ['EEXIST', "EEXIST: file already exists, mkdir 'data'", 'choose a folder with --data-folder'],
  ['ENOSPC', 'ENOSPC: no space left on device', 'the disk is full'],
])('%s is told with what to do, and without where it happened', (code, message, mend) => {
  const words = wordsFor(failed(code, message))
  expect(words).toContain(`${message}: `)
  expect(words).toContain(mend)
  expect(words).not.toContain('\n')
})

test('what several addresses of one name said is told', () => {
  const error = new AggregateError([
    new Error('connect ECONNREFUSED ::1:1'),
    new Error('connect ECONNREFUSED 127.0.0.1:1'),
  ])
  const words = wordsFor(Object.assign(error, { code: 'ECONNREFUSED' }))
  expect(words).toContain('connect ECONNREFUSED ::1:1, connect ECONNREFUSED 127.0.0.1:1: no PostgreSQL answers')
})

test('what nobody foresaw is told with where it happened, a wrong call in its own words', () => {
  expect(wordsFor(new TypeError('odd'))).toContain('words-for.test.ts')
  expect(wordsFor(new UsageError('give a file'))).toBe('give a file')
})
