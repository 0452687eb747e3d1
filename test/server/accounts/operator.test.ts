import { LIMITS } from '@countersign/protocol'
import { expect, test } from 'vitest'
import { key } from '../../../packages/cli/src/commands/operator/key.js'
import { tenant } from '../../../packages/cli/src/commands/operator/tenant.js'
import { readConfig } from '../../../packages/server/src/base/config.js'
import { createKey, createTenant, tenantsOf } from '../../../packages/server/src/process/operator.js'
import { createEmptyDatabase } from '../../support/postgres/database.js'
import { proves } from '../../support/proves.js'
import { createMailbox } from '../../support/runtime/mailbox.js'
import { Person } from '../../support/runtime/person.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

/** Whoever has the database, at the command line, while the service runs on it. */
const { runtime } = await withRuntime({ mailer: createMailbox() })

const commands = { tenant, key }
async function run(name: keyof typeof commands, ...args: string[]): Promise<{ printed: string[]; noted: string[] }> {
  const printed: string[] = []
  const noted: string[] = []
  const terminal = { print: (line: string) => printed.push(line), note: (line: string) => noted.push(line) }
  const code = await commands[name].run([...args, '--database-url', runtime.databaseUrl], terminal)
  expect(code).toBe(0)
  return { printed, noted }
}

const ask = async (apiKey: string) => (await runtime.api(apiKey).loadSession({ params: { session_id: 'none' } })).status
const tenantIn = (noted: readonly string[]) => /tenant (tnt_[\w-]+)/.exec(noted.join())?.[1] ?? ''

proves('limit.default-quota', 'a tenant made at the command line has the quota team, and is listed', async () => {
  const { printed, noted } = await run('tenant', 'create', 'Acme\nCorp', '--default-quota', 'free')
  expect(await ask(printed[0] ?? '')).toBe(404)
  const { printed: lines } = await run('tenant', 'list')
  const line = lines.find((each) => each.startsWith(tenantIn(noted)))
  expect(line).toMatch(/^tnt_\S+ +team +1 key +verified +\S+Z +Acme Corp$/)
  const { printed: json } = await run('tenant', 'list', '--json')
  expect(JSON.parse(json.join())).toContainEqual(expect.objectContaining({ name: 'Acme\nCorp', active_keys: 1 }))
})

test('its key is changed for another: the new one works, the old one is refused by the running service', async () => {
  const { printed: made, noted } = await run('tenant', 'create', 'rotating')
  const tenantId = tenantIn(noted)
  const [old = ''] = made
  expect(await ask(old)).toBe(404)
  const { printed: next } = await run('key', 'create', tenantId, '--name', 'second')
  const { printed: listed } = await run('key', 'list', tenantId)
  expect(listed).toHaveLength(2)
  const oldId = listed.find((line) => line.includes('first key'))?.split(' ')[0] ?? ''
  await run('key', 'revoke', tenantId, oldId)
  expect([await ask(old), await ask(next[0] ?? '')]).toEqual([401, 404])
  const { printed: after } = await run('key', 'list', tenantId, '--json')
  expect(JSON.parse(after.join())).toMatchObject([
    { name: 'second', revoked_at: null },
    { name: 'first key', revoked_at: expect.any(String) },
  ])
  await expect(run('key', 'revoke', tenantId, oldId)).rejects.toThrow(`key list ${tenantId} lists its keys`)
})

test('a tenant that was given another quota has it from the next request on', async () => {
  const { tenantId, key: apiKey } = await runtime.createTenant({ quota: 'free' })
  const policy = async () => {
    const { headers } = await runtime.api(apiKey).loadSession({ params: { session_id: 'none' } })
    return headers.get('ratelimit-policy')
  }
  expect(await policy()).toContain('q=120;')
  await run('tenant', 'quota', tenantId, 'team')
  expect(await policy()).toContain('q=12000;')
})

test('what the operator did to a tenant stands in its audit trail', async () => {
  const person = new Person(runtime.fetch)
  await person.signup()
  const { body: me } = await person.call('me')
  const [row] = await runtime.sql<{ tenantId: string }[]>`
    select tenant_id from users where email = ${me.user.email}`
  const tenantId = row?.tenantId ?? ''
  await run('tenant', 'quota', tenantId, 'scale')
  await run('key', 'create', tenantId)
  const { body: trail } = await person.call('listAudit')
  expect(trail.items.slice(0, 2)).toMatchObject([
    { action: 'key_created', actor: 'operator', ip: null, detail: 'created by an operator' },
    { action: 'quota_changed', actor: 'operator', ip: null, detail: 'scale' },
  ])
})

test('no more keys are made than a tenant may have', async () => {
  const { noted } = await run('tenant', 'create', 'many')
  const tenantId = tenantIn(noted)
  for (let made = 1; made < LIMITS.activeKeysPerTenant; made++) await run('key', 'create', tenantId)
  await expect(run('key', 'create', tenantId)).rejects.toThrow('can be active; revoke one first')
})

test('of several that are made at once no more are stored either', async () => {
  const config = readConfig({ DATABASE_URL: runtime.databaseUrl })
  const { tenantId } = await createTenant('many at once', null, config)
  const key = { name: 'at once', access: 'all' as const, agent: null, environment: null, expiresAt: null }
  const made = await Promise.allSettled(Array.from({ length: 8 }, () => createKey(tenantId, key, config)))
  expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(LIMITS.activeKeysPerTenant - 1)
  const refused = made.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []))
  for (const reason of refused) expect(reason).toContain('can be active; revoke one first')
})

test.each([
  [['tenant', 'quota', 'tnt_none', 'team'], 'there is no tenant tnt_none: countersign tenant list shows'],
  [['key', 'create', 'tnt_none'], 'there is no tenant tnt_none'],
  [['key', 'list', 'tnt_none'], 'there is no tenant tnt_none'],
  [['key', 'revoke', 'tnt_none', 'key_none'], 'there is no tenant tnt_none'],
  [['tenant', 'quota', 'tnt_none', 'huge'], 'the quota must be one of free, team, scale, not huge'],
  [['tenant', 'list', 'all'], 'expected: tenant create NAME, tenant list, or'],
  [['tenant', 'create', ''], 'expected: tenant create NAME'],
  [['tenant'], 'expected: tenant create NAME'],
  [['key', 'create'], 'expected: key create TENANT'],
  [['key', 'revoke', 'tnt_none'], 'expected: key create TENANT, key list TENANT, or key revoke TENANT KEY'],
  [['key', 'create', 'tnt_none', '--name', ' '], '--name: Too small'],
])('%j says what is wrong', async ([name, ...args], message) => {
  await expect(run(name as 'tenant' | 'key', ...args)).rejects.toThrow(message)
})

test('the first tenant may be made before the first start', async () => {
  const { url, drop } = await createEmptyDatabase()
  try {
    const config = readConfig({ DATABASE_URL: url })
    await expect(tenantsOf(config)).rejects.toThrow('the database has version 0')
    const { tenantId, quota } = await createTenant('early', null, config)
    expect(await tenantsOf(config)).toMatchObject([{ tenantId, quota, activeKeys: 1 }])
  } finally {
    await drop()
  }
})

test('a database of another version is left as it is', async () => {
  await runtime.sql`insert into schema_migrations (number, name, checksum) values (9999, 'newer', 'none')`
  const other = /the database has version 9999, and this command is for version \d+/
  await expect(run('tenant', 'list')).rejects.toThrow(other)
  await expect(run('tenant', 'create', 'late')).rejects.toThrow(other)
  await runtime.sql`delete from schema_migrations where number = 9999`
})
