import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, expect, inject, test, vi } from 'vitest'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import { processIdentity } from '../../../packages/server/src/process/embedded-postgres/process-identity.js'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../../packages/server/src/process/embedded-postgres/start-embedded-postgres.js'
import { rounds } from '../../support/data/rounds.js'
import { buildOnce, type Command, countersign } from '../../support/process/command-line.js'
import { runCommand } from '../../support/process/run-command.js'
import { proves } from '../../support/proves.js'

// Several servers and databases start one after another; a busy machine needs its time for that.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

const folders: string[] = []
const commands: Command[] = []
const databases: EmbeddedPostgres[] = []

beforeAll(() => buildOnce())
afterEach(async () => {
  for (const command of commands.splice(0)) {
    command.child.kill('SIGTERM')
    await command.ended
  }
  for (const database of databases.splice(0)) await database.stop()
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true })
})

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-start-'))
  folders.push(folder)
  return folder
}

function startCommand(dataFolder: string, ...more: string[]): Command {
  const command = countersign(['start', '--port', '0', '--data-folder', dataFolder, '--log-level', 'warn', ...more])
  commands.push(command)
  return command
}

async function start(options: Parameters<typeof startEmbeddedPostgres>[0]): Promise<EmbeddedPostgres> {
  const database = await startEmbeddedPostgres({ durable: false, ...options })
  databases.push(database)
  return database
}

const listens = async (command: Command) => (await command.says(/is running at (http:\S+)/))[1]!
const postmaster = async (folder: string) =>
  Number((await readFile(join(folder, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0])
const isReady = (url: string) =>
  fetch(`${url}/readyz`).then(
    (response) => response.ok,
    () => false,
  )

async function keyOf(dataFolder: string): Promise<string> {
  const { code, output } = await runCommand(['tenant', 'create', 'acme', '--data-folder', dataFolder])
  expect(code).toBe(0)
  return /csk_[A-Za-z0-9_-]{32}/.exec(output)![0]
}

const plan = '/api/v1/replay/sessions/none'
const ask = (url: string, key: string) =>
  fetch(`${url}${plan}`, { headers: { authorization: `Bearer ${key}` } }).then((r) => r.status)

test('one server a data folder: a second leaves it alone, the next after kill -9 goes on with it, SIGTERM frees it', async () => {
  const folder = await newFolder()
  const first = startCommand(folder)
  const url = await listens(first)
  const key = await keyOf(folder)

  const second = startCommand(folder)
  expect(await second.ended).toBe(1)
  expect(second.output()).toContain(`is in use by another Countersign server (process ${first.pid})`)
  expect(second.output()).not.toContain('    at ')
  const samePort = startCommand(await newFolder(), '--port', new URL(url).port, '--database-url', inject('postgresUrl'))
  expect(await samePort.ended).toBe(1)
  expect(samePort.output()).toMatch(new RegExp(`127.0.0.1:${new URL(url).port} is in use by another program`))
  expect(await isReady(url)).toBe(true)

  const orphan = await postmaster(folder)
  first.child.kill('SIGKILL')
  await first.ended
  expect(await processIdentity(orphan)).not.toBeNull()
  const next = startCommand(folder)
  const nextUrl = await listens(next)
  expect(next.output()).toContain('stopped a PostgreSQL that an earlier server left running')
  expect(await processIdentity(orphan)).toBeNull()
  expect(await ask(nextUrl, key)).toBe(404)
  expect(await ask(nextUrl, `csk_${'A'.repeat(32)}`)).toBe(401)

  const pid = await postmaster(folder)
  next.child.kill('SIGTERM')
  expect(await next.ended).toBe(0)
  expect(await processIdentity(pid)).toBeNull()
  await start({ dataFolder: folder })
})

proves(
  'auth.links.not-logged',
  'a development server whose output is kept says where a mail is, and not its link',
  async () => {
    const command = startCommand(await newFolder(), '--log-level', 'info')
    const url = await listens(command)
    const body = JSON.stringify({ email: 'ann@example.com', password: 'a password of sufficient length' })
    const headers = { 'content-type': 'application/json', origin: url }
    expect((await fetch(`${url}/api/auth/signup`, { method: 'POST', headers, body })).status).toBe(201)
    const [, file = ''] = await command.says(/"file":"([^"]+outbox[^"]+\.txt)"/)
    expect(await readFile(file, 'utf8')).toContain('/verify-email#token=')
    expect(command.output()).not.toContain('token=')
  },
)

test('of four servers that start at once on one folder exactly one runs', async () => {
  const folder = await newFolder()
  const outcomes = await Promise.allSettled(Array.from({ length: 4 }, () => start({ dataFolder: folder })))
  expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1)
})

test('a port for the database that another program took just before gives way to another', async () => {
  const other = createServer()
  await once(other.listen(0, '127.0.0.1'), 'listening')
  const taken = other.address() as AddressInfo
  const address = vi.spyOn(Server.prototype, 'address').mockReturnValueOnce(taken)
  try {
    const database = await start({ dataFolder: await newFolder() })
    expect(address).toHaveBeenCalledTimes(2)
    expect(Number(new URL(database.url).port)).not.toBe(taken.port)
  } finally {
    address.mockRestore()
    other.close()
  }
})

test.runIf(rounds(0, 1) === 1)('SIGTERM while the database still starts leaves nothing behind either', async () => {
  const folder = await newFolder()
  const command = startCommand(folder)
  await command.says(/creating the database/)
  command.child.kill('SIGTERM')
  expect(await command.ended).toBe(0)
  await start({ dataFolder: folder })
})

test('a pid file that names a living stranger does not stop the start, and the stranger lives on', async () => {
  const folder = await newFolder()
  const first = await start({ dataFolder: folder })
  const pidFile = join(folder, 'postgres/postmaster.pid')
  const lines = (await readFile(pidFile, 'utf8')).split('\n')
  await databases.pop()?.stop()
  await writeFile(pidFile, [String(process.pid), ...lines.slice(1)].join('\n'))
  const second = await start({ dataFolder: folder })
  expect(second.pid()).not.toBe(first.pid())
})

test('a PostgreSQL killed with -9 is started again at the same address', async () => {
  const said: string[] = []
  const database = await start({ dataFolder: await newFolder(), durable: true, say: (sentence) => said.push(sentence) })
  const before = database.pid()
  const sql = connect({ url: database.url }, { max: 1 })
  await sql`create table stored (n int)`
  await sql`insert into stored values (1)`
  process.kill(before, 'SIGKILL')
  await expect.poll(() => database.pid(), { timeout: 90_000 }).not.toBe(before)
  const rows = await sql`select n from stored`.catch(() => sql`select n from stored`)
  await sql.end()
  expect(rows).toHaveLength(1)
  expect(said).toContain('PostgreSQL is back')
})

test('the embedded database is durable, listens on loopback only, and its password is private', async () => {
  const folder = await newFolder()
  const database = await start({ dataFolder: folder, durable: true })
  const sql = connect({ url: database.url }, { max: 1 })
  const settings = await sql`
    select name, setting from pg_settings
    where name in ('fsync', 'synchronous_commit', 'full_page_writes', 'listen_addresses', 'unix_socket_directories')`
  await sql.end()
  expect(Object.fromEntries(settings.map(({ name, setting }) => [name, setting]))).toEqual({
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
  })
  expect((await stat(join(folder, 'database.json'))).mode & 0o777).toBe(0o600)
  const { password } = JSON.parse(await readFile(join(folder, 'database.json'), 'utf8'))
  expect(password).toHaveLength(32)
  const wrong = connect({ url: database.url.replace(password, 'guess') }, { max: 1 })
  await expect(wrong`select 1`).rejects.toThrow(/password authentication failed/)
  await wrong.end()
})

test.runIf(process.getuid?.() === 0)(
  'root with a data folder that the database user cannot reach: a system folder, and it says so',
  async () => {
    const home = await newFolder()
    const systemFolder = join(await newFolder(), 'system')
    await chmod(join(systemFolder, '..'), 0o755)
    const dataFolder = join(home, 'data')
    await mkdir(dataFolder)
    const said: string[] = []
    const database = await start({ dataFolder, systemFolder, say: (sentence) => said.push(sentence) })
    const sql = connect({ url: database.url }, { max: 1 })
    const [row] = await sql`select current_setting('data_directory') as folder`
    await sql.end()
    expect(row?.folder).toMatch(new RegExp(`^${systemFolder}/data-[0-9a-f]{12}/postgres$`))
    expect(said.join('\n')).toContain(`cannot reach ${dataFolder}; the database is kept in ${systemFolder}/data-`)
  },
)
