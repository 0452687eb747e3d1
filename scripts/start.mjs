// npm start: installs what is missing, builds what is stale, and starts the server. Needs nothing but Node.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
// One namespace import: an old Node must get far enough to be told that it is too old.
import * as fs from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { FIXES, fail as failAs } from './fixes.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const at = (...parts) => join(root, ...parts)
const say = (line) => process.stderr.write(`${line}\n`)

const fail = (problem, fix) => failAs('npm start', problem, fix)

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  fail(`Node ${process.versions.node} is too old`, FIXES.node)
}

// `npm start --port 4400` passes on only 4400.
const [first] = process.argv.slice(2)
if (first !== undefined && !first.startsWith('-')) {
  fail(`"${first}" is not a setting: npm removed the name of the setting`, 'put -- first: npm start -- --port 4400')
}

/** Remembers what was installed and built last; it is next to the installed packages. */
const stateFile = at('node_modules', '.countersign-build.json')
const readState = () => {
  try {
    return JSON.parse(fs.readFileSync(stateFile, 'utf8'))
  } catch {
    return {}
  }
}

function saveState(change) {
  try {
    fs.writeFileSync(stateFile, JSON.stringify({ ...readState(), ...change }))
  } catch (error) {
    fail(`${stateFile} cannot be written (${error.code})`, FIXES[error.code] ?? 'check the permissions of this folder')
  }
}

/** What the packages and the build need, with some margin. npm does not always say that the disk is full. */
const INSTALL_BYTES = 450 * 1024 * 1024

function requireSpace(bytes) {
  const { bavail, bsize } = fs.statfsSync(root)
  const free = bavail * bsize
  if (free >= bytes) return
  const megabytes = (amount) => `${Math.ceil(amount / 1024 / 1024)} MB`
  fail(
    `the disk is full: installing needs ${megabytes(bytes)}, and only ${megabytes(free)} are free in ${root}`,
    'free some space and try again, or copy the folder to a larger disk',
  )
}

function run(what, program, args, fix) {
  const startedAt = Date.now()
  say(`== ${what}`)
  const { status, error } = spawnSync(program, args, { cwd: root, stdio: ['ignore', 2, 2] })
  if (error?.code === 'ENOENT') fail(`${program} was not found`, FIXES.npm)
  if (status !== 0) fail(`${what} failed`, fix)
  say(`== done in ${((Date.now() - startedAt) / 1000).toFixed(1)} s`)
}

function isInstalled(lockHash) {
  const installed = at('node_modules', '.package-lock.json')
  if (!fs.existsSync(installed)) return false
  const { lock } = readState()
  // Without a record someone ran npm by hand, which counts if it was after the last change of the lockfile.
  return lock === undefined
    ? fs.statSync(installed).mtimeMs >= fs.statSync(at('package-lock.json')).mtimeMs
    : lock === lockHash
}

/** Folders that the build creates. */
const GENERATED = new Set(['dist', 'build', 'node_modules'])

/** The hash of everything the build reads. File times say little after a checkout or a copy. */
function sourceHash() {
  const hash = createHash('sha256')
  const add = (path) => hash.update(path.slice(root.length)).update('\0').update(fs.readFileSync(path)).update('\0')
  const walk = (folder) => {
    for (const entry of fs.readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (GENERATED.has(entry.name) || entry.name.endsWith('.tsbuildinfo')) continue
      if (entry.isDirectory()) walk(join(folder, entry.name))
      else if (entry.isFile()) add(join(folder, entry.name))
    }
  }
  walk(at('packages'))
  add(at('scripts', 'build-packages.mjs'))
  add(at('tsconfig.base.json'))
  add(at('package-lock.json'))
  return hash.digest('hex')
}

const lockHash = createHash('sha256')
  .update(fs.readFileSync(at('package-lock.json')))
  .digest('hex')
if (!isInstalled(lockHash)) {
  requireSpace(INSTALL_BYTES)
  const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error']
  run('installing packages (first start only)', 'npm', args, FIXES.install)
}
if (readState().lock !== lockHash) saveState({ lock: lockHash })

const entry = at('packages', 'cli', 'dist', 'main.js')
const sources = sourceHash()
if (readState().sources !== sources || !fs.existsSync(entry)) {
  const fix = `${FIXES.compile}; a fresh checkout builds without changes`
  // Only the packages: an error under examples/ must not prevent the server from starting.
  const packages = ['packages/cli', 'packages/dashboard']
  run('building (only after a change)', process.execPath, [at('scripts', 'build-packages.mjs'), ...packages], fix)
  if (fs.existsSync(at('packages', 'dashboard', 'index.html'))) {
    run(
      'building the dashboard',
      'npm',
      ['run', '--silent', 'build', '-w', '@countersign/dashboard', '--', '--logLevel', 'error'],
      fix,
    )
  }
  saveState({ sources })
}

// In this process, so that signals reach the server itself.
process.argv = [process.argv[0], entry, 'start', ...process.argv.slice(2)]
await import(pathToFileURL(entry).href)
