// npm start: installs what is missing, builds what is stale, and starts the service. Needs nothing but Node.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
// As one name: an old Node must come as far as being told that it is old.
import * as fs from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const at = (...parts) => join(root, ...parts)
const say = (line) => process.stderr.write(`${line}\n`)

function fail(what, mend) {
  say(`\nnpm start: ${what}\nWhat to do: ${mend}`)
  process.exit(1)
}

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  fail(`Node ${process.versions.node} is too old`, 'install Node 20.19 or later, see https://nodejs.org')
}

// `npm start --port 4400` hands over 4400 alone.
const [first] = process.argv.slice(2)
if (first !== undefined && !first.startsWith('-')) {
  fail(`"${first}" is no setting: npm keeps the names of settings for itself`, 'put -- first: npm start -- --port 4400')
}

/** Remembers what was installed and built last, beside the installed packages. */
const stampFile = at('node_modules', '.countersign-stamp.json')
const readStamp = () => {
  try {
    return JSON.parse(fs.readFileSync(stampFile, 'utf8'))
  } catch {
    return {}
  }
}

function saveStamp(change) {
  try {
    fs.writeFileSync(stampFile, JSON.stringify({ ...readStamp(), ...change }))
  } catch (error) {
    fail(`${stampFile} cannot be written (${error.code})`, WRITE_MENDS[error.code] ?? 'check the rights of this folder')
  }
}

const WRITE_MENDS = {
  EACCES: 'this user may not write here: change the rights of the folder, or copy it to your own',
  EROFS: 'the file system is read-only: copy the folder to a writable place',
  ENOSPC: 'the disk is full: make room and start again',
}

/** What the packages and the build take, with a little to spare. npm does not always say that the disk is full. */
const INSTALL_BYTES = 450 * 1024 * 1024

function requireRoom(bytes) {
  const { bavail, bsize } = fs.statfsSync(root)
  const free = bavail * bsize
  if (free >= bytes) return
  const megabytes = (amount) => `${Math.ceil(amount / 1024 / 1024)} MB`
  fail(
    `the disk is full: installing needs ${megabytes(bytes)}, and ${megabytes(free)} are free in ${root}`,
    'make room and start again, or copy the folder to a disk with more room',
  )
}

function run(what, program, args, mend) {
  const startedAt = Date.now()
  say(`== ${what}`)
  const { status, error } = spawnSync(program, args, { cwd: root, stdio: ['ignore', 2, 2] })
  if (error?.code === 'ENOENT') fail(`${program} was not found`, 'install npm, which comes with Node')
  if (status !== 0) fail(`${what}: failed`, mend)
  say(`== done in ${((Date.now() - startedAt) / 1000).toFixed(1)} s`)
}

function isInstalled(lockHash) {
  const installed = at('node_modules', '.package-lock.json')
  if (!fs.existsSync(installed)) return false
  const { lock } = readStamp()
  // Without a stamp somebody installed by hand; that counts when it happened after the last change of the lockfile.
  return lock === undefined
    ? fs.statSync(installed).mtimeMs >= fs.statSync(at('package-lock.json')).mtimeMs
    : lock === lockHash
}

/** Folders that the build itself makes. */
const MADE = new Set(['dist', 'build', 'node_modules'])

/** Everything the build reads, by content: times of files say little after a checkout or a copy. */
function sourceHash() {
  const hash = createHash('sha256')
  const add = (path) => hash.update(path.slice(root.length)).update('\0').update(fs.readFileSync(path)).update('\0')
  const walk = (folder) => {
    for (const entry of fs.readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (MADE.has(entry.name) || entry.name.endsWith('.tsbuildinfo')) continue
      if (entry.isDirectory()) walk(join(folder, entry.name))
      else if (entry.isFile()) add(join(folder, entry.name))
    }
  }
  walk(at('packages'))
  add(at('tsconfig.base.json'))
  add(at('package-lock.json'))
  return hash.digest('hex')
}

const lockHash = createHash('sha256')
  .update(fs.readFileSync(at('package-lock.json')))
  .digest('hex')
if (!isInstalled(lockHash)) {
  requireRoom(INSTALL_BYTES)
  const mend = 'read the lines above; npm names a network that cannot be reached, a full disk, or missing rights'
  run('installing packages (first start only)', 'npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], mend)
}
if (readStamp().lock !== lockHash) saveStamp({ lock: lockHash })

const entry = at('packages', 'cli', 'dist', 'main.js')
const sources = sourceHash()
if (readStamp().sources !== sources || !fs.existsSync(entry)) {
  const mend = 'the compiler names file and line above; a fresh checkout builds without changes'
  // The packages alone: what somebody writes under examples/ must not keep the service from starting.
  const packages = ['packages/cli', 'packages/dashboard']
  run('building (only after a change)', at('node_modules', '.bin', 'tsc'), ['-b', ...packages], mend)
  if (fs.existsSync(at('packages', 'dashboard', 'index.html'))) {
    run(
      'building the dashboard',
      'npm',
      ['run', '--silent', 'build', '-w', '@countersign/dashboard', '--', '--logLevel', 'error'],
      mend,
    )
  }
  saveStamp({ sources })
}

// In this process, so that signals reach the server itself.
process.argv = [process.argv[0], entry, 'start', ...process.argv.slice(2)]
await import(pathToFileURL(entry).href)
