// npm run demo -- --volume: a month of made-up work in the demo tenant of the server that `npm start` runs.
import { readFileSync } from 'node:fs'
import { readConfig } from '../packages/server/src/base/config.js'
import { connect } from '../packages/server/src/postgres/connect.js'
import { withDatabase } from '../packages/server/src/process/configured-database.js'
import { Person } from '../test/support/runtime/person.js'
import { createApi } from '../test/support/runtime/runtime.js'
import { seedVolume } from '../test/support/volume/volume.js'

const SESSIONS = 300
const [file = ''] = process.argv.slice(2)
const demo = JSON.parse(readFileSync(file, 'utf8')) as { url: string; email: string; password: string; api_key: string }
const begun = Date.now()

/** The requests of the tests' clients, sent to the running server. */
const send: typeof fetch = async (input) => {
  const request = input as Request
  const { pathname, search } = new URL(request.url)
  const text = await request.text()
  return fetch(new URL(pathname + search, demo.url), {
    method: request.method,
    headers: request.headers,
    ...(text === '' ? {} : { body: text }),
  })
}

const person = new Person(send, { email: demo.email, origin: demo.url })
const { status, text } = await person.login(demo.password)
if (status !== 200) throw new Error(`the demo sign-in was refused: ${text}`)
const { body } = await person.call('me')

/** The server learns by itself: waits until it knows the observed agent. */
const settle = async () => {
  for (let tries = 0; tries < 240; tries += 1) {
    const { body } = await person.call('listContracts', { query: { agent: 'newsletter' } })
    // A tool is known before the calls of it are learned.
    if (body.contracts.length > 0 && body.contracts.every(({ samples }) => samples > 0)) return
    await new Promise((done) => setTimeout(done, 500))
  }
  throw new Error('the server learned nothing in two minutes')
}

await withDatabase(readConfig(process.env), async (url) => {
  const sql = connect({ url }, { max: 2 })
  try {
    const { sessions } = await seedVolume({
      api: createApi(send, demo.api_key),
      person,
      settle,
      sql,
      tenantId: body.user.tenant_id,
      sessions: SESSIONS,
      prefix: `s${Date.now().toString(36)}`,
    })
    const seconds = Math.round((Date.now() - begun) / 1_000)
    console.log(`${sessions} sessions over 30 days, made in ${seconds} s. Look at ${demo.url}`)
  } finally {
    await sql.end()
  }
})
