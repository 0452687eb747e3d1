import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll } from 'vitest'
import { type Config, readConfig } from '../../../packages/server/src/base/config.js'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import type { Sql } from '../../../packages/server/src/postgres/sql.js'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../../packages/server/src/process/embedded-postgres/start-embedded-postgres.js'
import { createTenant } from '../../../packages/server/src/process/operator.js'
import { inviteUser } from '../../../packages/server/src/process/operator-users.js'
import { Person } from '../runtime/person.js'
import { type Api, createApi } from '../runtime/runtime.js'
import { buildOnce, type Command, countersign } from './command-line.js'

export interface KillableProcesses {
  readonly sql: Sql
  readonly key: string
  readonly api: Api
  /** Of the key's tenant, signed in. */
  readonly owner: Person
  /** The same before and after a kill. */
  readonly origin: string
  /** What the service that runs now has said. */
  output(): string
  /** As `kill -9` does; then it is started again. */
  killService(): Promise<void>
  killPostgres(): Promise<void>
}

/** Where the service looks for the database: a proxy, for instance. */
type Through = (databaseUrl: string) => Promise<string>

/** A durable PostgreSQL and the service, each in a process of its own: both can be killed. They run while the file does. */
export function withKillableProcesses(through: Through = async (url) => url): KillableProcesses {
  let folder: string
  let postgres: EmbeddedPostgres
  let url: string
  let command: Command
  const service = {} as { -readonly [Name in keyof KillableProcesses]: KillableProcesses[Name] }

  async function start(port: string): Promise<string> {
    const quotas = JSON.stringify({ scale: { write: 1e8, read: 1e8, evidence: 1e8 } })
    command = countersign(['start', '--port', port], {
      DATABASE_URL: url,
      COUNTERSIGN_QUOTAS: quotas,
      COUNTERSIGN_LOG_LEVEL: 'error',
      COUNTERSIGN_SIGNING_KEYS: 'a signing key for tests of 32 letters and more',
    })
    const [, origin = ''] = await command.says(/is running at (http\S+)/)
    return origin
  }

  beforeAll(async () => {
    buildOnce()
    folder = await mkdtemp(join(tmpdir(), 'countersign-crash-'))
    postgres = await startEmbeddedPostgres({ dataFolder: folder })
    const config = readConfig({ DATABASE_URL: postgres.url })
    const tenant = await createTenant('crash', 'scale', config)
    url = await through(postgres.url)
    const origin = await start('0')
    Object.assign(service, {
      sql: connect({ url: postgres.url }, { max: 2 }),
      ...{ key: tenant.key, api: createApi(sendTo(origin), tenant.key), origin },
      owner: await ownerOf(tenant.tenantId, config, origin),
      output: () => command.output(),
      async killService() {
        command.child.kill('SIGKILL')
        await command.ended
        await start(new URL(origin).port)
      },
      async killPostgres() {
        const pid = postgres.pid()
        process.kill(pid, 'SIGKILL')
        while (postgres.pid() === pid) await sleep(50)
      },
    } satisfies KillableProcesses)
  })
  afterAll(async () => {
    command.child.kill('SIGTERM')
    await command.ended
    await service.sql.end({ timeout: 1 })
    await postgres.stop()
    await rm(folder, { recursive: true, force: true })
  })
  return service
}

/** Sends to the service what a test means for it. */
const sendTo =
  (origin: string): typeof fetch =>
  (input, init) => {
    const request = new Request(input, init)
    const { pathname, search } = new URL(request.url)
    return fetch(new Request(new URL(pathname + search, origin), request), { signal: AbortSignal.timeout(60_000) })
  }

/** Joins by the link that the operator gets. */
async function ownerOf(tenantId: string, config: Config, origin: string): Promise<Person> {
  const owner = new Person(sendTo(origin), { origin })
  const { email, password } = owner
  const link = await inviteUser({ email, tenantId, role: 'owner', groups: [] }, 'link', config)
  const token = new URLSearchParams(new URL(link ?? '').hash.slice(1)).get('token') ?? ''
  const { status, text } = await owner.call('acceptInvitation', { body: { token, password } })
  if (status !== 200) throw new Error(`the owner could not join: ${text}`)
  return owner
}
