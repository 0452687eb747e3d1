import { describe, expect, test } from 'vitest'
import { createRouter } from './router.js'

const router = createRouter<string>()
router.add('GET', '/', 'home')
router.add('POST', '/sessions', 'create')
router.add('GET', '/sessions/:session_id', 'load')
router.add('POST', '/sessions/:session_id/labels', 'label')
router.add('*', '/sessions/:session_id/labels', 'only POST')
router.add('GET', '/sessions/newest', 'newest')
router.add('POST', '/flows/:flow_id/handoffs/:handoff_id/complete', 'complete')

describe('a request finds its target', () => {
  test.each([
    ['GET', '/', 'home', {}],
    ['POST', '/sessions', 'create', {}],
    ['GET', '/sessions/s1', 'load', { session_id: 's1' }],
    ['HEAD', '/sessions/s1', 'load', { session_id: 's1' }],
    ['GET', '/sessions/newest', 'newest', {}],
    ['POST', '/sessions/newest/labels', 'label', { session_id: 'newest' }],
    ['DELETE', '/sessions/s1/labels', 'only POST', { session_id: 's1' }],
    ['OPTIONS', '/sessions/s1/labels', 'only POST', { session_id: 's1' }],
    ['POST', '/flows/f/handoffs/h/complete', 'complete', { flow_id: 'f', handoff_id: 'h' }],
    ['GET', '/sessions/a%2Fb', 'load', { session_id: 'a/b' }],
    ['GET', '/sessions/%C3%A9', 'load', { session_id: 'é' }],
    ['GET', '/sessions/%6eewest', 'load', { session_id: 'newest' }],
    ['GET', '/sessions/100%', 'load', { session_id: '100%' }],
    ['GET', '/sessions/__proto__', 'load', { session_id: '__proto__' }],
  ])('%s %s', (method, path, target, params) => {
    expect(router.find(method, path)).toEqual({ target, params })
    expect(router.find(method, path)).toEqual({ target, params })
  })
})

test.each([
  ['GET', '/sessions'],
  ['GET', '/sessions/'],
  ['GET', '/sessions//labels'],
  ['POST', '/sessions/s1'],
  ['POST', '/sessions/s1/labels/'],
  ['POST', '//sessions'],
  ['GET', '/Sessions/s1'],
  ['GET', '/sessions/s1/labels/x'],
  ['GET', '/%73essions/s1'],
  ['POST', '/sessions/s1/%6cabels'],
  ['GET', `/sessions/s1${'/x'.repeat(40)}`],
  ['*', '/sessions'],
  ['GET', 'sessions/s1'],
])('nothing serves %s %s', (method, path) => {
  expect(router.find(method, path)).toBeNull()
})
