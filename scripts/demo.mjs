// npm run demo: an agent serves three customers, governed by the server that `npm start` runs in another terminal.
// With -- --volume: a month of sessions of several agents instead.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { FIXES, fail as failAs } from './fixes.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

const fail = (problem, fix) => failAs('npm run demo', problem, fix)

const { values } = parseArgs({
  options: { 'data-folder': { type: 'string' }, volume: { type: 'boolean', default: false } },
})
const dataFolder = values['data-folder'] ?? process.env.COUNTERSIGN_DATA_FOLDER ?? join(root, '.countersign')
const file = resolve(dataFolder, 'demo.json')

if (!existsSync(join(root, 'packages', 'sdk', 'dist', 'index.js'))) fail('nothing is built yet', FIXES.start)
if (!existsSync(file)) fail(`there is no demo key in ${dataFolder}`, FIXES.start)
const demo = JSON.parse(readFileSync(file, 'utf8'))
if (demo.api_key === null)
  fail('the demo tenant has reached its limit of API keys', 'revoke one in the dashboard and start the server again')
const isUp = await fetch(`${demo.url}/healthz`).then(
  (reply) => reply.ok,
  () => false,
)
if (!isUp) fail(`there is no server at ${demo.url}`, FIXES.start)

const program = values.volume ? [join(root, 'scripts', 'volume.ts'), file] : [join(root, 'examples', 'demo', 'main.ts')]
if (values.volume) console.log('Making a month of sessions. This takes about a minute.')
const { status } = spawnSync(process.execPath, ['--import', 'tsx', ...program], {
  cwd: root,
  stdio: ['ignore', 'inherit', 'inherit'],
  env: {
    ...process.env,
    COUNTERSIGN_API_KEY: demo.api_key,
    COUNTERSIGN_API_URL: demo.url,
    COUNTERSIGN_DATA_FOLDER: dataFolder,
  },
})
if (status === 0) console.log(`Sign in as ${demo.email} with the password ${demo.password}`)
process.exitCode = status ?? 1
