import { expect, test } from 'vitest'
import { user } from '../../../packages/cli/src/commands/operator/user.js'
import { proves } from '../../support/proves.js'
import { createMailbox } from '../../support/runtime/mailbox.js'
import { Person } from '../../support/runtime/person.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

/** Whoever has the database lets people in, while the service runs on it. */
const mailbox = createMailbox()
const { runtime } = await withRuntime({ mailer: mailbox, config: { COUNTERSIGN_SIGNUP: 'closed' } })

async function run(...args: string[]): Promise<{ printed: string; noted: string }> {
  const printed: string[] = []
  const noted: string[] = []
  const terminal = { print: (line: string) => printed.push(line), note: (line: string) => noted.push(line) }
  const settings = ['--database-url', runtime.databaseUrl, '--public-url', 'https://countersign.example']
  expect(await user.run([...args, ...settings], terminal)).toBe(0)
  return { printed: printed.join('\n'), noted: noted.join('\n') }
}
const tenant = ['--tenant', runtime.tenantId]
const joined = async (email: string, token: string) => {
  const person = new Person(runtime.fetch, { email })
  const { body } = await person.call('acceptInvitation', { body: { token, password: person.password } })
  return { person, user: body.user }
}

proves('people.first-owner', 'a link at the command line, and from then on the owner does it', async () => {
  const { printed } = await run('create', 'ada@example.test', ...tenant, '--role', 'owner')
  expect(printed).toMatch(/^https:\/\/countersign\.example\/join#token=[\w-]{43}$/)
  const { person: ada, user: view } = await joined('ada@example.test', printed.split('#token=')[1] ?? '')
  expect(view).toMatchObject({ role: 'owner', tenant_id: runtime.tenantId })
  expect((await ada.call('inviteMember', { body: { email: 'bob@example.test', role: 'viewer' } })).status).toBe(201)
  const { items } = (await ada.call('listAudit', { query: { who: 'operator' } })).body
  expect(items.map(({ action, subject, detail }) => [action, subject, detail])).toEqual([
    ['member_invited', 'ada@example.test', 'owner'],
  ])
  const { printed: listed } = await run('list', ...tenant)
  expect(listed).toMatch(/^ada@example\.test +owner +active +signed in \S+Z/)
})

test('a person who is invited by the operator gets the mail of the running service', async () => {
  await run('invite', 'carol@example.test', ...tenant, '--role', 'approver', '--group', 'finance', '--group', 'on-call')
  await runtime.instances[0].parts.accounts.mail.idle()
  const { user: view } = await joined('carol@example.test', mailbox.tokenFor('carol@example.test'))
  expect(view).toMatchObject({ role: 'approver', groups: ['finance', 'on-call'] })
})

test('roles, disabling and removing are done at once, and the last owner stays', async () => {
  const { printed } = await run('create', 'dan@example.test', ...tenant)
  const { person: dan } = await joined('dan@example.test', printed.split('#token=')[1] ?? '')
  expect((await dan.call('listMembers')).code).toBe('ROLE_NEEDED')
  await run('role', 'dan@example.test', 'owner')
  expect((await dan.call('listMembers')).status).toBe(200)
  await run('disable', 'dan@example.test')
  expect((await dan.call('me')).status).toBe(401)
  await run('enable', 'dan@example.test')
  expect((await dan.login()).status).toBe(200)
  await run('remove', 'dan@example.test')
  expect((await dan.call('me')).status).toBe(401)
  await expect(run('remove', 'dan@example.test')).rejects.toThrow('no user has the address')
  await expect(run('disable', 'ada@example.test')).rejects.toThrow('the last owner')
})

test.each([
  [['create', 'eve@example.test'], 'expected: user create'],
  [['create', 'eve', ...tenant], 'eve is not an email address'],
  [['create', 'eve@example.test', ...tenant, '--role', 'admin'], 'the role must be one of viewer, approver, owner'],
  [['create', 'eve@example.test', ...tenant, '--group', 'Finance'], 'a group is named with lower-case letters'],
  [['create', 'eve@example.test', '--tenant', 'tnt_none'], 'there is no tenant tnt_none'],
  [['create', 'ada@example.test', ...tenant], 'is a member already'],
  [['role', 'ada@example.test'], 'expected: user create'],
  [['promote', 'ada@example.test'], 'expected: user create'],
])('%j says what is wrong', async (args, message) => {
  await expect(run(...args)).rejects.toThrow(message)
})
