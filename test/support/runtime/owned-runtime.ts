import { afterAll } from 'vitest'
import { createMailbox } from './mailbox.js'
import { Person } from './person.js'
import { type Api, type Runtime, startRuntime } from './runtime.js'

interface OwnedRuntime {
  readonly runtime: Runtime
  /** Signed up, verified and signed in, with the limits that are highest. */
  readonly owner: Person
  /** By the owner's key. */
  readonly api: Api
}

/** A service with the account of one person, for the tests of one file. */
export async function startOwnedRuntime(): Promise<OwnedRuntime> {
  const mailbox = createMailbox()
  const runtime = await startRuntime({ mailer: mailbox })
  afterAll(() => runtime.close())
  const owner = new Person(runtime.fetch)
  const { body } = await owner.signup()
  await runtime.sql`update tenants set quota = 'scale' where tenant_id = ${body.user.tenant_id}`
  await runtime.instances[0].parts.accounts.mail.idle()
  await owner.call('verifyEmail', { body: { token: mailbox.tokenFor(owner.email) } })
  return { runtime, owner, api: runtime.api(body.api_key) }
}
