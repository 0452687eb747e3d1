import { expect } from 'vitest'
import { deleteEndedInvitations } from '../../../packages/server/src/store/accounts/invitations.js'
import { deleteOldMailTokens } from '../../../packages/server/src/store/accounts/mail.js'
import { deleteEndedRefreshTokens } from '../../../packages/server/src/store/accounts/refresh-tokens.js'
import { passTime } from '../../support/postgres/pass-time.js'
import { throughSql, watchedSql } from '../../support/postgres/watched-sql.js'
import { proves } from '../../support/proves.js'
import { appFetch } from '../../support/runtime/app-fetch.js'
import { createMailbox } from '../../support/runtime/mailbox.js'
import { Person } from '../../support/runtime/person.js'
import { joinTeam, newOwner } from '../../support/runtime/team.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const mailbox = createMailbox()
let lookups = 0
const { runtime, api } = await withRuntime({
  mailer: mailbox,
  wrapDatabase: (database) =>
    throughSql(database, (sql) =>
      watchedSql(sql, (text) => {
        if (text.includes('from directory')) lookups += 1
      }),
    ),
})
const { sql } = runtime

/** Each from another address: few may sign up from one. */
const stranger = (n: number, email: string) => new Person(appFetch(runtime.instances[0].app, `10.0.0.${n}`), { email })

const kinds = async () =>
  (await sql<{ kind: string }[]>`select kind from directory order by kind`).map(({ kind }) => kind)

proves('scale.directory', 'a key is looked up once in a process, and an unknown one is refused', async () => {
  lookups = 0
  for (let n = 0; n < 5; n++) expect((await api.listSessionsByKey({})).status).toBe(200)
  expect(lookups).toBe(1)
  const unknown = runtime.api(`${runtime.key.slice(0, -4)}AAAA`)
  expect((await unknown.listSessionsByKey({})).status).toBe(401)
  expect(lookups).toBe(2)
})

proves('scale.directory', 'of two tenants that want an address at once, one gets it', async () => {
  for (let round = 0; round < 5; round++) {
    const email = `both-${round}@example.test`
    const answers = await Promise.all([1, 2].map((n) => stranger(2 * round + n, email).signup()))
    expect(answers.map(({ status, code }) => [status, code]).toSorted()).toEqual([
      [201, undefined],
      [409, 'EMAIL_TAKEN'],
    ])
    const [held] = await sql<{ users: number; entries: number }[]>`
      select (select count(*)::int from users where email = ${email}) as users, count(*)::int as entries from directory
      where kind = 'email' and hash = sha256(convert_to(${email}, 'UTF8'))`
    expect(held).toEqual({ users: 1, entries: 1 })
  }
})

proves(
  'scale.directory',
  'an address is free again when its member is removed, and leads to its next tenant',
  async () => {
    const owner = await newOwner(runtime, mailbox)
    const member = await joinTeam(runtime, mailbox, { owner, role: 'viewer' })
    const again = stranger(100, member.email)
    expect((await again.signup()).code).toBe('EMAIL_TAKEN')
    expect((await owner.call('removeMember', { params: { user_id: member.userId } })).status).toBe(200)
    expect((await again.signup()).status).toBe(201)
    expect((await again.login()).status).toBe(200)
    expect((await member.login()).status).toBe(401)
  },
)

proves('scale.directory', 'what is removed for its age leaves no entry', async () => {
  expect(await kinds()).toEqual(expect.arrayContaining(['email', 'invitation', 'key', 'mail', 'sign_in']))
  const days = 40
  await passTime(sql, (days + 31) * 86_400_000, ['refresh_tokens', 'mail_tokens', 'mail_queue', 'invitations'])
  await sql`delete from mail_queue`
  await sql.begin(async (tx) => {
    expect(await deleteEndedRefreshTokens(tx, days, 5_000)).toBeGreaterThan(0)
    expect(await deleteOldMailTokens(tx, days, 5_000)).toBeGreaterThan(0)
    expect(await deleteEndedInvitations(tx, days, 5_000)).toBeGreaterThan(0)
  })
  expect([...new Set(await kinds())]).toEqual(['email', 'key'])
})
