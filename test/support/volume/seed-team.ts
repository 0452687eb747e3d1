import type { Role } from '@countersign/protocol'
import type { Mailbox } from '../runtime/mailbox.js'
import { Person } from '../runtime/person.js'
import type { Runtime } from '../runtime/runtime.js'
import { askAs } from './record-replies.js'

const BROWSER = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36'

/** Members of every role, one of them disabled, an invitation that waits, and a second sign-in of the owner. */
export async function seedTeam(runtime: Runtime, mailbox: Mailbox, owner: Person): Promise<void> {
  const ask = askAs(owner)
  const invite = (email: string, role: Role, groups: string[] = []) =>
    ask('inviteMember', { body: { email, role, groups } })
  const join = async (email: string, role: Role, groups?: string[]): Promise<string> => {
    await invite(email, role, groups)
    await runtime.instances[0].parts.accounts.mail.idle()
    const member = new Person(runtime.fetch, { email })
    const body = { token: mailbox.tokenFor(email), password: member.password }
    return (await askAs(member)('acceptInvitation', { body })).user.user_id
  }
  await join('ben@northwind.example', 'approver', ['finance', 'on-call'])
  await join('cleo@northwind.example', 'viewer')
  const left = await join('eve@northwind.example', 'approver')
  await ask('changeMember', { params: { user_id: left }, body: { disabled: true } })
  await invite('finn@northwind.example', 'approver', ['finance'])
  const { email, password } = owner
  await owner.call('login', { body: { email, password }, headers: { 'user-agent': BROWSER } })
}
