import { expect, test } from 'vitest'
import { BLOCK_REASON_NAMES } from './base/block-reasons.js'
import { ERRORS } from './base/errors.js'
import type { Route } from './http/route.js'
import { ROUTES } from './routes.js'

const routes = Object.entries<Route>(ROUTES)

test('no two routes share a method and a path', () => {
  const seen = routes.map(([, route]) => `${route.method} ${route.path}`)
  expect(new Set(seen).size).toBe(seen.length)
})

test.each(routes)('%s: the path parameters are the ones its params describe', (_name, route) => {
  const inPath = [...route.path.matchAll(/:([a-z_]+)/g)].map((match) => match[1]).sort()
  expect(Object.keys(route.params?.shape ?? {}).sort()).toEqual(inPath)
})

test.each(routes)('%s: runtime paths take an API key, dashboard paths a cookie', (_name, route) => {
  if (route.path.startsWith('/api/v1/')) expect(route.auth).toBe('api_key')
  if (route.path.startsWith('/api/dashboard/')) expect(route.auth).toBe('cookie')
})

test('no route approves a proposal and none removes a label', () => {
  expect(routes.filter(([, route]) => /proposals\/.*approve|approve.*proposals/.test(route.path))).toEqual([])
  expect(routes.filter(([, route]) => route.method === 'DELETE' && route.path.includes('labels'))).toEqual([])
})

test('there are 24 block reasons and every error has a status that says whose turn it is', () => {
  expect(BLOCK_REASON_NAMES).toHaveLength(24)
  for (const { status } of Object.values(ERRORS))
    expect([400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429, 500, 503]).toContain(status)
})
