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
  dashboard(new Request(`http://localhost${path}`, { headers }))

describe('the served dashboard', () => {
  test.each(['/', '/sessions', '/sessions/ses_1', '/verify-email', '/no/such/page'])('%s is the page', async (path) => {
    const response = get(path)
    expect(response?.status).toBe(200)
    expect(await response?.text()).toBe(PAGE)
    expect(response?.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(response?.headers.get('cache-control')).toBe('no-cache')
    expect(response?.headers.get('content-security-policy')).toMatch(/^default-src 'self';/)
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
  ])('%s never leaves the folder', async (path) => {
    expect(await get(path)?.text()).not.toBe('outside')
  })

  test('named files are kept for good, and nothing is sent twice or unpacked to who can take it packed', async () => {
    const asset = get('/assets/app-1a2b.js')
    expect(asset?.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(asset?.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    const etag = asset?.headers.get('etag') ?? ''
    expect(get('/assets/app-1a2b.js', { 'if-none-match': etag })?.status).toBe(304)
    const packed = get('/', { 'accept-encoding': 'gzip, br' })
    expect(packed?.headers.get('content-encoding')).toBe('gzip')
    expect(gunzipSync(new Uint8Array((await packed?.arrayBuffer()) ?? new ArrayBuffer(0))).toString()).toBe(PAGE)
    // Packing these few bytes would make them more.
    expect(get('/assets/app-1a2b.js', { 'accept-encoding': 'gzip' })?.headers.get('content-encoding')).toBeNull()
  })

  test('a service without a built dashboard says so', async () => {
    const response = openDashboard(join(folder, 'dist/assets'))(new Request('http://localhost/'))
    expect(response?.status).toBe(404)
    expect(await response?.text()).toContain('npm run build')
  })
})
