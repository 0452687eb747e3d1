import { learnCaptures } from '../../../packages/server/src/captures/learn-captures.js'
import { countDecisions } from '../../../packages/server/src/store/dashboard/decision-counts.js'
import { createMailbox } from '../runtime/mailbox.js'
import { Person } from '../runtime/person.js'
import { type Api, type Runtime, startRuntime } from '../runtime/runtime.js'
import { seedTeam } from './seed-team.js'
import { type Seeded, seedVolume } from './volume.js'

export interface SeededRuntime extends Seeded {
  readonly runtime: Runtime
  readonly owner: Person
  readonly api: Api
  /** Lets what waits be learned. */
  settle(): Promise<void>
}

const OWNER = 'dana@northwind.example'

/** A service with the account of one person and a month of work in it. Whoever starts it closes its runtime. */
export async function startSeeded(sessions: number): Promise<SeededRuntime> {
  const mailbox = createMailbox()
  const runtime = await startRuntime({ mailer: mailbox })
  const { parts } = runtime.instances[0]
  const { database, accounts } = parts
  const owner = new Person(runtime.fetch, { email: OWNER })
  const { body } = await owner.signup({ name: 'Dana', organisation: 'Northwind Trading' })
  const tenantId = body.user.tenant_id
  await runtime.sql`update tenants set quota = 'scale' where tenant_id = ${tenantId}`
  await accounts.mail.idle()
  await owner.call('verifyEmail', { body: { token: mailbox.tokenFor(OWNER) } })
  const settle = async () => {
    while ((await learnCaptures(parts)) > 0) {
      // Until nothing is left to learn.
    }
  }
  await database.transaction('jobs', countDecisions)
  const api = runtime.api(body.api_key)
  const seeded = await seedVolume({ api, person: owner, settle, sql: runtime.sql, tenantId, sessions })
  await seedTeam(runtime, mailbox, owner)
  await database.transaction('jobs', countDecisions)
  return { ...seeded, runtime, owner, api, settle }
}
