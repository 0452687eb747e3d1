import { afterAll } from 'vitest'
import { type Agent, startAgent } from './agent.js'
import { createMailbox } from './mailbox.js'
import { Person } from './person.js'
import { type Api, type Runtime, type RuntimeOptions, startRuntime } from './runtime.js'

interface WithRuntime {
  readonly runtime: Runtime
  /** By the key of the runtime's tenant. */
  readonly api: Api
}

/** A runtime for the tests of one file, closed after the last: `const { runtime, api } = await withRuntime()`. */
export async function withRuntime(options: RuntimeOptions = {}): Promise<WithRuntime> {
  const runtime = await startRuntime(options)
  afterAll(() => runtime.close())
  return { runtime, api: runtime.api() }
}

/** The same with a program that it can govern, and the program's model provider. */
export async function withAgentAndRuntime(
  options: RuntimeOptions = {},
): Promise<WithRuntime & { readonly agent: Agent }> {
  const started = await withRuntime(options)
  const agent = await startAgent()
  // Runs before the runtime is closed: the agent's sessions report their end to it.
  afterAll(() => agent.close())
  return { ...started, agent }
}

interface WithOwnedRuntime extends WithRuntime {
  /** Signed up, verified and signed in, with the highest quota. `api` calls by the owner's key. */
  readonly owner: Person
  /** The owner's. */
  readonly key: string
}

/** The same with the account of one person. */
export async function withOwnedRuntime(options: RuntimeOptions = {}): Promise<WithOwnedRuntime> {
  const mailbox = createMailbox()
  const { runtime } = await withRuntime({ ...options, mailer: mailbox })
  const owner = new Person(runtime.fetch)
  const { body } = await owner.signup()
  await runtime.sql`update tenants set quota = 'scale' where tenant_id = ${body.user.tenant_id}`
  await runtime.instances[0].parts.accounts.mail.idle()
  await owner.call('verifyEmail', { body: { token: mailbox.tokenFor(owner.email) } })
  return { runtime, owner, key: body.api_key, api: runtime.api(body.api_key) }
}
