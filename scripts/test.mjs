// npm test: installs what is missing, then runs every stage in order; the first failure ends the run and says what to do.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const long = process.argv.includes('--long')

const STAGES = [
  {
    name: 'install',
    command: ['npm', 'ci', '--no-audit', '--no-fund'],
    skip: () => existsSync(`${root}node_modules/.package-lock.json`),
    mend: 'check the network and run npm ci',
  },
  { name: 'build', command: ['npm', 'run', '--silent', 'build'], mend: 'the compiler names the file and line above' },
  { name: 'types', command: ['npm', 'run', '--silent', 'types'], mend: 'the compiler names the file and line above' },
  { name: 'lint', command: ['npm', 'run', '--silent', 'lint'], mend: 'npm run fix mends most of it' },
  {
    name: 'browser',
    command: ['node', 'scripts/chromium.mjs'],
    mend: 'install Chromium, or set CHROMIUM_PATH to one',
  },
  {
    name: 'tests',
    command: ['npx', 'vitest', 'run'],
    mend: 'npx vitest run FILE runs one file; a seed printed above repeats a random test',
  },
]

const started = Date.now()
for (const { name, command, skip, mend } of STAGES) {
  if (skip?.()) continue
  const at = Date.now()
  console.log(`\n== ${name}: ${command.join(' ')}`)
  const [program, ...args] = command
  const { status } = spawnSync(program, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...(long ? { COUNTERSIGN_TEST_ROUNDS: 'long' } : {}) },
  })
  if (status !== 0) {
    console.error(`\n== ${name} failed. What to do: ${mend}`)
    process.exit(status ?? 1)
  }
  console.log(`== ${name} passed in ${((Date.now() - at) / 1000).toFixed(1)} s`)
}
console.log(`\n== all stages passed in ${((Date.now() - started) / 1000).toFixed(1)} s`)
