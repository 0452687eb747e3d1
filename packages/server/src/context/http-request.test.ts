import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { readRequest } from './http-request.js'

const request = (url: string, ...rawHeaders: string[]) =>
  readRequest({ method: 'GET', url, rawHeaders } as unknown as IncomingMessage)

describe('what is asked for', () => {
  test.each([
    ['/', '/', ''],
    ['/api/v1/runs', '/api/v1/runs', ''],
    ['/api?agent=a&b=%20', '/api', '?agent=a&b=%20'],
    ['/a?b=/../c', '/a', '?b=/../c'],
    ['/a%2Fb', '/a%2Fb', ''],
    ['//etc/passwd', '//etc/passwd', ''],
    ['/a/../b', '/a/../b', ''],
    ['/a/%2e%2e/b', '/a/%2e%2e/b', ''],
    ['/.well-known/x', '/.well-known/x', ''],
    ['http://elsewhere/a?b', '/a', '?b'],
    ['HTTPS://elsewhere:1//a', '//a', ''],
    ['/a?b=\\', '/a', '?b=\\'],
  ])('%s', (url, path, query) => {
    expect(request(url)).toMatchObject({ path, query })
  })

  test.each([
    '*',
    '',
    '/a\\b',
    '/a#b?c',
    '/a?b#c',
    'http://',
    'http:///a',
    'http://elsewhere?b',
    'ftp://elsewhere/a',
    'elsewhere:443',
  ])('%s is no path', (url) => {
    expect(request(url)).toMatchObject({ path: null, query: '' })
  })
})

test('a header is found by its name in lower case; one that came twice is joined', () => {
  const { header } = request(
    '/',
    'Host',
    'a',
    'AUTHORIZATION',
    'Bearer x',
    'authorization',
    'Bearer y',
    'Cookie',
    'a=1',
    'cookie',
    'b=2',
  )
  expect(header('host')).toBe('a')
  expect(header('authorization')).toBe('Bearer x, Bearer y')
  expect(header('cookie')).toBe('a=1; b=2')
  expect(header('origin')).toBeNull()
})
