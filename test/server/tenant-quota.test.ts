import { afterAll, beforeAll, expect, test } from 'vitest'
import { tenant } from '../../packages/cli/src/commands/tenant.js'
import { type Runtime, startRuntime } from '../support/runtime.js'

let runtime: Runtime
beforeAll(async () => {
  runtime = await startRuntime()
})
afterAll(() => runtime.close())

async function run(...args: string[]): Promise<{ code: number; said: string }> {
  const said: string[] = []
  const terminal = { print: (line: string) => said.push(line), note: (line: string) => said.push(line) }
  return { code: await tenant.run([...args, '--database-url', runtime.databaseUrl], terminal), said: said.join(' ') }
}

test('a tenant that was given another quota has it from the next request on', async () => {
  const { tenantId, key } = await runtime.createTenant({ quota: 'free' })
  const readsAMinute = async () => {
    const { headers } = await runtime.api(key).loadSession({ params: { session_id: 'none' } })
    return headers.get('ratelimit-policy')
  }
  expect(await readsAMinute()).toContain('q=120;')
  expect((await run('quota', tenantId, 'team')).code).toBe(0)
  expect(await readsAMinute()).toContain('q=12000;')
})

test('a tenant that there is not, and a quota that there is not, are told', async () => {
  expect(await run('quota', 'tnt_nobody', 'team')).toMatchObject({
    code: 1,
    said: expect.stringContaining('tnt_nobody'),
  })
  await expect(run('quota', 'tnt_nobody', 'huge')).rejects.toThrow('free, team, scale')
  await expect(run('quota', 'tnt_nobody')).rejects.toThrow('expected: tenant create NAME')
})
