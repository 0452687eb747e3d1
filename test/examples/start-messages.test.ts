import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../packages/server/src/postgres/connect.js'
import { migrate } from '../../packages/server/src/schema/migrate.js'
import { root } from '../support/files/tracked-files.js'
import { createEmptyDatabase } from '../support/postgres/database.js'
import { buildOnce } from '../support/process/command-line.js'
import { runCommand } from '../support/process/run-command.js'

/** What a newcomer reads when a start cannot succeed. A taken port and a folder in use: test/server/embedded-start. */
const NOBODY = 65_534
const asRoot = process.getuid?.() === 0
let folder: string

beforeAll(() => {
  buildOnce()
  folder = mkdtempSync(join(tmpdir(), 'countersign-words-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function start(args: readonly string[], options: { uid?: number; gid?: number } = {}) {
  const env = { PATH: process.env.PATH, HOME: folder }
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, env, encoding: 'utf8', ...options })
  return { status, output: stdout + stderr }
}

const main = `${root}packages/cli/dist/main.js`
const command = (...flags: string[]) => [main, 'start', '--port', '0', ...flags]

test('an old Node is named, with the version that is needed', () => {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.1' } })`
  const old = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`]
  expect(start([...old, `${root}scripts/start.mjs`])).toEqual({
    status: 1,
    output: '\nnpm start: Node 18.20.1 is too old\nWhat to do: install Node 20.19 or later, see https://nodejs.org\n',
  })
})

test('the command prints its version, and suggests a command for an unknown one', async () => {
  const { version } = JSON.parse(readFileSync(`${root}packages/cli/package.json`, 'utf8'))
  expect(start([main, '--version'])).toEqual({ status: 0, output: `countersign ${version}, Node ${process.version}\n` })
  const { code, output } = await runCommand(['strat'])
  expect(code).toBe(2)
  expect(output).toMatch(/unknown command strat: did you mean "start"\?[\s\S]*countersign start/)
})

test('a setting whose name npm removed comes with the right way to pass it', () => {
  expect(start([`${root}scripts/start.mjs`, '4400'])).toEqual({
    status: 1,
    output:
      '\nnpm start: "4400" is not a setting: npm removed the name of the setting\n' +
      'What to do: put -- first: npm start -- --port 4400\n',
  })
})

test('a misspelt setting comes with a suggestion', async () => {
  const { code, output } = await runCommand(['start', '--prot', '0'])
  expect(code).toBe(2)
  expect(output).toMatch(/^countersign start: unknown option --prot: did you mean "--port"\?\n/)
})

test('data of a newer version is left alone, and both versions are named', async () => {
  const database = await createEmptyDatabase()
  try {
    await migrate(database.url)
    const sql = connect({ url: database.url }, { max: 1 })
    await sql`insert into schema_migrations (number, name, checksum) values (9000, 'from_the_future', '')`
    await sql.end()
    const settings = ['--port', '0', '--database-url', database.url, '--data-folder', join(folder, 'data')]
    const { code, output } = await runCommand(['start', ...settings])
    expect(output).toMatch(/database is newer than this version.*migration 9000 \(from_the_future\).*restore a backup/)
    expect(output).not.toContain('    at ')
    expect(code).toBe(1)
  } finally {
    await database.drop()
  }
})

test('a folder that this user may not write to is named, with what to do', ({ skip }) => {
  // For root there is no such folder, so nobody starts it, where nobody can read the program.
  const own = asRoot ? { uid: NOBODY, gid: NOBODY } : {}
  if (start(['--check', main], own).status !== 0) skip('nobody cannot read this folder')
  const { status, output } = start(command('--data-folder', asRoot ? join(folder, 'data') : '/countersign-data'), own)
  expect(output).toMatch(/(EACCES|EROFS).*choose another folder with --data-folder/)
  expect(output).not.toContain('    at ')
  expect(status).toBe(1)
})

test.skipIf(process.platform !== 'linux')('a folder that takes none below it is named at once', async () => {
  const { code, output } = await runCommand(['start', '--port', '0', '--data-folder', '/proc/x'])
  expect(output).toMatch(/(\/proc\/x cannot be created|EACCES).*choose another folder with --data-folder/)
  expect(output).not.toContain('    at ')
  expect(code).toBe(1)
})

test.each(['tenant create acme', 'backup file.gz'])('%s makes no database in a folder without one', async (words) => {
  const elsewhere = join(folder, 'elsewhere')
  const { code, output } = await runCommand([...words.split(' '), '--data-folder', elsewhere])
  expect(output).toMatch(/there is no database in .*elsewhere: run this in the folder where the service was started/)
  expect(output).not.toContain('    at ')
  expect([code, existsSync(elsewhere)]).toEqual([1, false])
})

test('a full disk is named, with what to do', () => {
  const { status, output } = start([
    '--import',
    `data:text/javascript,${encodeURIComponent(FULL_DISK)}`,
    ...command('--data-folder', join(folder, 'full')),
  ])
  expect(output).toMatch(/ENOSPC.*the disk is full; free some space or choose another folder with --data-folder/)
  expect(output).not.toContain('    at ')
  expect(status).toBe(1)
})

/** A test cannot fill a disk: the first folder that is made fails as it would on a full one. */
const FULL_DISK = `
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
fs.mkdirSync = (path) => {
  throw Object.assign(new Error("ENOSPC: no space left on device, mkdir '" + path + "'"), { code: 'ENOSPC' })
}
syncBuiltinESMExports()`
