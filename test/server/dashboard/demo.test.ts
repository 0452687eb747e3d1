import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { type Demo, openDemo } from '../../../packages/server/src/process/demo.js'
import { type Runtime, TEST_ORIGIN } from '../../support/runtime/runtime.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const dataFolder = await mkdtemp(join(tmpdir(), 'countersign-demo-'))
const { runtime } = await withRuntime({ config: { COUNTERSIGN_DATA_FOLDER: dataFolder } })
afterAll(async () => {
  await rm(dataFolder, { recursive: true, force: true })
})

const services = (config: Partial<Runtime['instances'][0]['parts']['config']> = {}) => {
  const { parts } = runtime.instances[0]
  return { ...parts, config: { ...parts.config, ...config } }
}
const open = async (): Promise<Demo> => {
  const demo = await openDemo(services(), TEST_ORIGIN)
  if (demo === null) throw new Error('a development server has a demo')
  return demo
}
const signIn = async ({ email, password }: Demo) =>
  runtime.fetch(`${TEST_ORIGIN}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: TEST_ORIGIN },
    body: JSON.stringify({ email, password }),
  })
/** 404 for a key that works, since there is no such session. */
const useKey = async ({ api_key }: Demo) =>
  (await runtime.api(api_key ?? '').loadSession({ params: { session_id: 'none' } })).status

test('the demo keeps its sign-in and its key over restarts, in a private file; a revoked key is replaced', async () => {
  const first = await open()
  expect((await signIn(first)).status).toBe(200)
  expect(await useKey(first)).toBe(404)
  const second = await open()
  expect(second.password).toBe(first.password)
  expect((await signIn(second)).status).toBe(200)
  expect(second.api_key).toBe(first.api_key)
  await runtime.sql`update api_keys set revoked_at = clock_timestamp() where name = 'demo key'`
  const third = await open()
  expect(await useKey(second)).toBe(401)
  expect(await useKey(third)).toBe(404)
  const file = join(dataFolder, 'demo.json')
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(third)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
})

test('a lost file gives the demo a new password; the old one is worth nothing', async () => {
  const before = await open()
  await rm(join(dataFolder, 'demo.json'))
  const after = await open()
  expect(after.password).not.toBe(before.password)
  expect((await signIn(before)).status).toBe(401)
  expect((await signIn(after)).status).toBe(200)
})

test('production makes no demo, and closes one that the database holds', async () => {
  const demo = await open()
  const signedIn = await signIn(demo)
  const cookie = signedIn.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  const me = () => runtime.fetch(`${TEST_ORIGIN}/api/auth/me`, { headers: { cookie } })
  expect((await me()).status).toBe(200)
  expect(await openDemo(services({ mode: 'production' }), TEST_ORIGIN)).toBeNull()
  expect((await signIn(demo)).status).toBe(401)
  expect(await useKey(demo)).toBe(401)
  expect((await me()).status).toBe(401)
  expect(existsSync(join(dataFolder, 'demo.json'))).toBe(false)
})

test('--demo off closes it as well, and says so once, since another instance may have opened it', async () => {
  const demo = await open()
  const warnings = () => runtime.logLines.filter((line) => line.includes('the demo is closed for every instance'))
  const before = warnings().length
  for (let start = 0; start < 2; start++) expect(await openDemo(services({ demo: false }), TEST_ORIGIN)).toBeNull()
  expect(await useKey(demo)).toBe(401)
  expect(
    warnings()
      .slice(before)
      .map((line) => JSON.parse(line).level),
  ).toEqual(['warn'])
})

test('keys that people made are left alone; without room for one more there is no demo key', async () => {
  const demo = await open()
  const signedIn = await signIn(demo)
  const cookie = signedIn.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  const createKey = () =>
    runtime.fetch(`${TEST_ORIGIN}/api/dashboard/keys`, {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json', origin: TEST_ORIGIN },
      body: JSON.stringify({ name: 'mine' }),
    })
  const made = await Promise.all(Array.from({ length: 4 }, createKey))
  expect(made.every((reply) => reply.ok)).toBe(true)
  const again = await open()
  expect(again.api_key).not.toBeNull()
  await runtime.sql`update api_keys set revoked_at = now() where name = 'demo key' and revoked_at is null`
  expect((await createKey()).ok).toBe(true)
  expect((await open()).api_key).toBeNull()
})
