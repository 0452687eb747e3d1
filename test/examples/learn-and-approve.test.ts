import { expect, test } from 'vitest'
import { startJobs } from '../../packages/server/src/process/jobs/start-jobs.js'
import { runExample } from '../support/process/example.js'
import { createMailbox } from '../support/runtime/mailbox.js'
import { Person } from '../support/runtime/person.js'
import { withRuntime } from '../support/runtime/with-runtime.js'

const mailbox = createMailbox()
const { runtime } = await withRuntime({ mailer: mailbox })

test('example learn-and-approve: watched, learned, approved by a person, enforced', async () => {
  const { parts, listen } = runtime.instances[0]
  const person = new Person(runtime.fetch)
  const { body } = await person.signup()
  await runtime.sql`update tenants set quota = 'scale' where tenant_id = ${body.user.tenant_id}`
  await parts.accounts.mail.idle()
  await person.call('verifyEmail', { body: { token: mailbox.tokenFor(person.email) } })
  const jobs = startJobs(parts, undefined, 200)
  try {
    const output = await runExample('learn-and-approve/main.ts', {
      apiUrl: await listen(),
      apiKey: body.api_key,
      email: person.email,
      password: person.password,
    })
    expect(output).toContain('learned two contracts with high confidence')
    expect(output).toContain('blocked: ')
  } finally {
    await jobs.close()
  }
})
