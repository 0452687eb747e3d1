// npm run demo: an agent serves three customers on the service that `npm start` runs in another terminal.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))

function fail(what, mend) {
  console.error(`npm run demo: ${what}\nWhat to do: ${mend}`)
  process.exit(1)
}

const { values } = parseArgs({ options: { 'data-folder': { type: 'string' } } })
const dataFolder = values['data-folder'] ?? process.env.COUNTERSIGN_DATA_FOLDER ?? join(root, '.countersign')
const file = resolve(dataFolder, 'demo.json')
const START = 'run `npm start` in another terminal, wait until it says that it listens, then try again'

if (!existsSync(join(root, 'packages', 'sdk', 'dist', 'index.js'))) fail('nothing is built yet', START)
if (!existsSync(file)) fail(`there is no demo key in ${dataFolder}`, START)
const demo = JSON.parse(readFileSync(file, 'utf8'))
if (demo.api_key === null)
  fail('the demo tenant has all the keys it may have', 'revoke one in the dashboard, start anew')
const answers = await fetch(`${demo.url}/healthz`).then(
  (reply) => reply.ok,
  () => false,
)
if (!answers) fail(`nobody answers at ${demo.url}`, START)

const { status } = spawnSync(process.execPath, ['--import', 'tsx', join(root, 'examples', 'demo', 'main.ts')], {
  cwd: root,
  stdio: ['ignore', 'inherit', 'inherit'],
  env: { ...process.env, COUNTERSIGN_API_KEY: demo.api_key, COUNTERSIGN_API_URL: demo.url },
})
if (status === 0) console.log(`Sign in as ${demo.email}, password ${demo.password}`)
process.exitCode = status ?? 1
