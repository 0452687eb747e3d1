import type { Role } from '@countersign/protocol'
import type { Mailbox } from './mailbox.js'
import { Person } from './person.js'
import type { Runtime } from './runtime.js'

/** Joins the tenant of an owner by the invitation that is mailed. */
export async function joinTeam(
  runtime: Runtime,
  mailbox: Mailbox,
  { owner, role, groups = [] }: { owner: Person; role: Role; groups?: string[] },
): Promise<Person & { userId: string }> {
  const person = new Person(runtime.fetch)
  const invited = await owner.call('inviteMember', { body: { email: person.email, role, groups } })
  if (invited.status !== 201) throw new Error(`the invitation was refused: ${invited.text}`)
  await runtime.instances[0].parts.accounts.mail.idle()
  const token = mailbox.tokenFor(person.email)
  const joined = await person.call('acceptInvitation', { body: { token, password: person.password } })
  if (joined.status !== 200) throw new Error(`nobody joined: ${joined.text}`)
  return Object.assign(person, { userId: joined.body.user.user_id })
}

/** A person who has opened a tenant of their own. */
export async function newOwner(runtime: Runtime, mailbox: Mailbox): Promise<Person & { userId: string; key: string }> {
  const owner = new Person(runtime.fetch)
  const { body } = await owner.signup()
  await runtime.instances[0].parts.accounts.mail.idle()
  await owner.call('verifyEmail', { body: { token: mailbox.tokenFor(owner.email) } })
  return Object.assign(owner, { userId: body.user.user_id, key: body.api_key })
}
