import { setTimeout as sleep } from 'node:timers/promises'
import type { Role } from '@countersign/protocol'
import { afterAll, beforeAll, expect } from 'vitest'
import { readConfig } from '../../../packages/server/src/base/config.js'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import type { Sql } from '../../../packages/server/src/postgres/sql.js'
import { createTenant } from '../../../packages/server/src/process/operator.js'
import { inviteUser } from '../../../packages/server/src/process/operator-users.js'
import { PATIENCE_MS, rounds } from '../../support/data/rounds.js'
import { createTestDatabase, type TestDatabase } from '../../support/postgres/database.js'
import { buildOnce, type Command, countersign } from '../../support/process/command-line.js'
import { proves } from '../../support/proves.js'
import { tokenIn } from '../../support/runtime/mailbox.js'
import { Person } from '../../support/runtime/person.js'

/** The service in a process of its own, which is killed. */
let database: TestDatabase
let sql: Sql
let tenantId: string
beforeAll(async () => {
  buildOnce()
  database = await createTestDatabase()
  tenantId = (await createTenant('killed', 'scale', readConfig({ DATABASE_URL: database.url }))).tenantId
  sql = connect({ url: database.url }, { max: 2 })
})
afterAll(async () => {
  await sql.end({ timeout: 1 })
  await database.drop()
})

let service: Command
let origin: string
async function startService(): Promise<void> {
  const env = {
    DATABASE_URL: database.url,
    COUNTERSIGN_LOG_LEVEL: 'error',
    COUNTERSIGN_SCRYPT_COST: '10',
    COUNTERSIGN_TRUSTED_PROXIES: '127.0.0.1',
    COUNTERSIGN_SIGNING_KEYS: 'a signing key for tests of 32 letters and more',
  }
  service = countersign(['start', '--port', '0', '--demo', 'off'], env)
  ;[, origin = ''] = await service.says(/is running at (http\S+)/)
}

const kill = async () => {
  service.child.kill('SIGKILL')
  await service.ended
}

let address = 0
/** Over a real socket, from an address of its own, as the page of whatever address the service has now. */
const browse: typeof fetch = (input, init) => {
  const request = new Request(input, init)
  const { pathname, search } = new URL(request.url)
  const moved = new Request(new URL(pathname + search, origin), request)
  moved.headers.set('origin', origin)
  address += 1
  moved.headers.set('x-forwarded-for', `10.0.${address >> 8}.${address & 255}`)
  return fetch(moved)
}

const invited = async (email: string, role: Role): Promise<string> => {
  const config = readConfig({ DATABASE_URL: database.url })
  return tokenIn((await inviteUser({ email, tenantId, role, groups: ['finance'] }, 'link', config)) ?? '')
}
const join_ = async (person: Person, token: string) =>
  (await person.call('acceptInvitation', { body: { token, password: person.password } })).body.user

const ROUNDS = rounds(1, 60)

proves(
  'people.invitation.whole',
  'kill -9 of the service while people join and roles change: joined or not, this role or that, never half',
  async () => {
    await startService()
    const owner = new Person(browse)
    await join_(owner, await invited(owner.email, 'owner'))
    const moved = new Person(browse)
    const { user_id } = await join_(moved, await invited(moved.email, 'viewer'))
    for (let round = 0; round < ROUNDS; round++) {
      const guests = await Promise.all(
        Array.from({ length: 6 }, async () => {
          const guest = new Person(browse)
          return { guest, token: await invited(guest.email, 'approver') }
        }),
      )
      const joining = guests.map(({ guest, token }) => join_(guest, token).then(Boolean, () => false))
      const role = round % 2 === 0 ? 'approver' : 'viewer'
      const changing = owner.call('changeMember', { params: { user_id }, body: { role } }).catch(() => null)
      await sleep(5 + Math.random() * 40)
      await kill()
      const acknowledged = await Promise.all(joining)
      const isChanged = (await changing)?.status === 200

      for (const [index, { guest, token }] of guests.entries()) {
        const [row] = await sql<Record<string, number>[]>`
          select
            (select count(*) from invitations where email = ${guest.email} and ended_at is null) as open,
            (select count(*) from users u where u.email = ${guest.email} and u.role = 'approver') as users,
            (select count(*) from group_members g join users u using (tenant_id, user_id)
              where u.email = ${guest.email} and g.name = 'finance') as groups,
            (select count(*) from audit_entries where actor = ${guest.email} and action = 'member_joined') as acts,
            (select count(*) from refresh_tokens r join users u using (tenant_id, user_id)
              where u.email = ${guest.email}) as sign_ins`
        const [out, in_] = [
          { open: 1, users: 0, groups: 0, acts: 0, signIns: 0 },
          { open: 0, users: 1, groups: 1, acts: 1, signIns: 1 },
        ]
        expect([out, in_]).toContainEqual(row)
        if (acknowledged[index]) expect(row).toEqual(in_)
        guests[index] = { guest, token: row?.open === 1 ? token : '' }
      }
      const [now] = await sql<{ role: Role; said: string | null }[]>`
        select role, (
          select split_part(split_part(detail, '→ ', 2), ' in ', 1) from audit_entries
          where subject = ${user_id} and action = 'member_changed' order by at desc limit 1
        ) as said
        from users where user_id = ${user_id}`
      expect(now?.said ?? 'viewer').toBe(now?.role)
      if (isChanged) expect(now?.role).toBe(role)

      await startService()
      // Whoever is not in yet joins with the same link.
      for (const { guest, token } of guests) if (token !== '') expect((await join_(guest, token)).role).toBe('approver')
    }
    await kill()
  },
  PATIENCE_MS,
)
