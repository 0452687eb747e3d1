// node scripts/frameworks.mjs: installs the agent frameworks that examples and tests need. They have a package and a
// lockfile of their own, so that npm start does not bring their 180 MB. Nothing is done while the lockfile is the one
// that was installed.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = `${root}examples/frameworks`
const linked = `${root}test/frameworks/node_modules`
const mark = `${folder}/node_modules/.installed-lockfile`

/** True when the frameworks of the lockfile are in place. */
export function frameworksAreInstalled() {
  return existsSync(mark) && readFileSync(mark, 'utf8') === lockfileHash() && existsSync(linked)
}

const lockfileHash = () =>
  createHash('sha256')
    .update(readFileSync(`${folder}/package-lock.json`))
    .digest('hex')

/** False when npm failed; it has said why. */
export function installFrameworks() {
  // Some declare a later Node than they need, and npm would warn of each.
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const { status, error } = spawnSync('npm', args, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] })
  if (error !== undefined || status !== 0) return false
  writeFileSync(mark, lockfileHash())
  linkForTests()
  return true
}

/** Node looks for packages in the folders above a file, and the tests stand beside the examples. */
function linkForTests() {
  rmSync(linked, { recursive: true, force: true })
  mkdirSync(linked)
  for (const name of readdirSync(`${folder}/node_modules`).filter((name) => !name.startsWith('.'))) {
    symlinkSync(`../../../examples/frameworks/node_modules/${name}`, `${linked}/${name}`)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url) && !frameworksAreInstalled()) {
  process.exitCode = installFrameworks() ? 0 : 1
}
