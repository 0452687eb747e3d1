import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Dashboard, openDashboard } from './serve-dashboard.js'

let folder: string
let dashboard: Dashboard
const PAGE = `<!doctype html>${'<p>page</p>'.repeat(100)}`

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-dashboard-'))
  mkdirSync(join(folder, 'dist/assets'), { recursive: true })
  writeFileSync(join(folder, 'secret.txt'), 'outside')
  writeFileSync(join(folder, 'dist/index.html'), PAGE)
  writeFileSync(join(folder, 'dist/assets/app-1a2b.js'), 'app()')
  dashboard = openDashboard(join(folder, 'dist'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const get = (path: string, headers: Record<string, string> = {}) =>
  dashboard({ path, header: (name) => headers[name] ?? null })

describe('the served dashboard', () => {
  test.each(['/', '/sessions', '/sessions/ses_1', '/verify-email', '/no/such/page'])('%s is the page', (path) => {
    const response = get(path)
    expect(response?.status).toBe(200)
    expect(String(response?.body)).toBe(PAGE)
    expect(response?.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(response?.headers['cache-control']).toBe('no-cache')
    expect(response?.headers['content-security-policy']).toMatch(/^default-src 'self';/)
  })

  test.each(['/api', '/api/v1/nothing', '/api/dashboard/keys', '/assets/old-9f.js'])(
    '%s is none of its own',
    (path) => {
      expect(get(path)).toBeNull()
    },
  )

  test.each([
    '/../secret.txt',
    '/..%2fsecret.txt',
    '/%2e%2e/secret.txt',
    '/assets/..%2f..%2fsecret.txt',
    '//etc/passwd',
  ])('%s never leaves the folder', (path) => {
    expect(String(get(path)?.body)).not.toBe('outside')
  })

  test('named files are cached for good, and nothing is sent twice, or unpacked to a client that takes it packed', () => {
    const asset = get('/assets/app-1a2b.js')
    expect(asset?.headers['cache-control']).toBe('public, max-age=31536000, immutable')
    expect(asset?.headers['content-type']).toBe('text/javascript; charset=utf-8')
    const etag = asset?.headers.etag ?? ''
    expect(get('/assets/app-1a2b.js', { 'if-none-match': etag })?.status).toBe(304)
    const packed = get('/', { 'accept-encoding': 'gzip, br' })
    expect(packed?.headers['content-encoding']).toBe('gzip')
    expect(gunzipSync(packed?.body ?? '').toString()).toBe(PAGE)
    // Packing these few bytes would make them more.
    expect(get('/assets/app-1a2b.js', { 'accept-encoding': 'gzip' })?.headers['content-encoding']).toBeUndefined()
  })

  test('a service without a built dashboard says so', () => {
    const response = openDashboard(join(folder, 'dist/assets'))({ path: '/', header: () => null })
    expect(response?.status).toBe(404)
    expect(String(response?.body)).toContain('npm run build')
  })
})
