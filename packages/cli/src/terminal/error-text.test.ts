import { expect, test } from 'vitest'
import { UsageError } from './command.js'
import { errorText, isUsage } from './error-text.js'

const failed = (code: string, message: string) => Object.assign(new Error(message), { code })

test.each([
  ['28P01', 'password authentication failed for user "app"', 'check the name and password in DATABASE_URL'],
  ['3D000', 'database "app" does not exist', 'create the database first'],
  ['42501', 'permission denied for schema public', 'make it the owner of the database'],
  ['ENOTFOUND', 'getaddrinfo ENOTFOUND db.invalid', 'no host has that name'],
  ['ECONNRESET', 'Client network socket disconnected before secure TLS connection was established', 'sslmode'],
  ['ETIMEDOUT', 'connect ETIMEDOUT 10.0.0.1:5432', 'no PostgreSQL server answers there'],
  ['EEXIST', "EEXIST: file already exists, mkdir 'data'", 'choose a folder with --data-folder'],
  ['ENOSPC', 'ENOSPC: no space left on device', 'the disk is full'],
])('%s shows a fix and no stack', (code, message, fix) => {
  const text = errorText(failed(code, message))
  expect(text).toContain(`${message}: `)
  expect(text).toContain(fix)
  expect(text).not.toContain('\n')
})

test('the errors of every address of a host are shown', () => {
  const error = new AggregateError([
    new Error('connect ECONNREFUSED ::1:1'),
    new Error('connect ECONNREFUSED 127.0.0.1:1'),
  ])
  const text = errorText(Object.assign(error, { code: 'ECONNREFUSED' }))
  expect(text).toContain('connect ECONNREFUSED ::1:1, connect ECONNREFUSED 127.0.0.1:1: no PostgreSQL server answers')
})

test('an unexpected error shows its stack, a wrong call only its message', () => {
  expect(errorText(new TypeError('odd'))).toContain('error-text.test.ts')
  expect(errorText(new UsageError('give a file'))).toBe('give a file')
})

test.each(['ConfigError', 'SettingsError'])('%s: wrong in a flag is wrong usage, in the environment not', (name) => {
  const wrong = (message: string) => Object.assign(new Error(message), { name })
  expect(errorText(wrong('COUNTERSIGN_API_KEY is not set'))).toBe('COUNTERSIGN_API_KEY is not set')
  expect(isUsage(wrong('--port: expected a number (port)'))).toBe(true)
  expect(isUsage(wrong('COUNTERSIGN_PORT: expected a number (port)'))).toBe(false)
})
