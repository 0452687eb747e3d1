import { expect, test } from 'vitest'
import { forOneHost, hostsOf, needsPrimary } from './database-address.js'

const SEVERAL = 'postgresql://me:p%40ss@db1.example:5433,db2.example,[::1]:5434/cs?sslmode=require'

test('several hosts, each with its port', () => {
  expect(hostsOf(SEVERAL)).toEqual([
    { host: 'db1.example', port: 5433 },
    { host: 'db2.example', port: 5432 },
    { host: '::1', port: 5434 },
  ])
  expect(forOneHost(SEVERAL)).toBe('postgresql://me:p%40ss@db1.example:5433/cs?sslmode=require')
})

test.each([
  ['postgres://h/db', false],
  ['postgres://a,b@h/db', false],
  ['postgres:///db', false],
  ['postgres://h/db?target_session_attrs=read-write', true],
  [SEVERAL, true],
])('%s: needs to be asked for its primary: %s', (url, needed) => {
  expect(needsPrimary(url)).toBe(needed)
})

test.each(['postgres://a:port,b/db', 'postgres://a,,b/db', 'postgres://a,b:1:2/db', 'postgres://a,[b/db'])(
  '%s cannot be read',
  (url) => {
    expect(() => hostsOf(url)).toThrow('host:port')
  },
)
