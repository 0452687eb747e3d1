// node scripts/fresh-clone.mjs: clones this repository into an empty folder, with an empty HOME and npm cache, runs
// `npm start` twice, the demo, and `npm test`, times them and checks what they print. The last line is one JSON object.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const withTests = !process.argv.includes('--no-test')
const folder = mkdtempSync(join(tmpdir(), 'countersign-fresh-'))
const clone = join(folder, 'countersign')
const home = join(folder, 'home')
mkdirSync(home)
/** No settings of this user, except where npm gets packages from. */
const passedOn = Object.entries(process.env).filter(([name]) =>
  /^(PATH|LANG|npm_config_(registry|cafile)|NODE_EXTRA_CA_CERTS|https?_proxy|no_proxy)$/i.test(name),
)
const env = { ...Object.fromEntries(passedOn), HOME: home, npm_config_cache: join(home, 'npm-cache') }
const PORT = '4397'
const figures = {}
const problems = []

const check = (holds, what) => {
  console.log(`${holds ? 'ok  ' : 'FAIL'} ${what}`)
  if (!holds) problems.push(what)
}

function run(name, args) {
  const startedMs = Date.now()
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd: clone, env, encoding: 'utf8', maxBuffer: 1 << 28 })
  figures[`${name}_seconds`] = (Date.now() - startedMs) / 1000
  return { status, output: `${stdout}${stderr}` }
}

/** Starts the server, waits until it is ready, runs `work`, and stops it. */
async function start(name, work) {
  const startedMs = Date.now()
  const child = spawn('npm', ['start', '--', '--port', PORT], { cwd: clone, env, detached: true })
  let output = ''
  let firstMs = null
  const listening = new Promise((done, fail) => {
    const timer = setTimeout(() => fail(new Error(`it printed no address within 10 minutes:\n${output}`)), 600_000)
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        firstMs ??= Date.now() - startedMs
        output += chunk
        if (/Ctrl-C stops both/.test(output)) {
          clearTimeout(timer)
          done()
        }
      })
    }
    child.once('close', () => fail(new Error(`npm start ended:\n${output}`)))
  })
  try {
    await listening
    figures[`${name}_seconds`] = (Date.now() - startedMs) / 1000
    figures[`${name}_first_line_seconds`] = firstMs / 1000
    await work(output)
  } finally {
    // The whole process group: npm, node and their PostgreSQL.
    if (child.exitCode === null) {
      process.kill(-child.pid, 'SIGINT')
      await new Promise((done) => child.once('close', done))
    }
  }
}

try {
  const cloned = spawnSync('git', ['clone', '--quiet', '--no-local', root, clone], { encoding: 'utf8' })
  if (cloned.status !== 0) throw new Error(`git clone failed: ${cloned.stderr}`)
  await start('first_start', async (output) => {
    check(/^== installing packages/m.test(output), 'the first start says that it installs')
    check(/Countersign is running at http:\/\/127\.0\.0\.1:4397/.test(output), 'it prints its address')
    check(/sign in {5}\S+@\S+ {3}password \S+/.test(output), 'it prints a demo sign-in')
    check(/API key {5}csk_[\w-]{32}/.test(output), 'it prints a demo key')
    check(!/^\s+at .*:[0-9]+:[0-9]+\)?$/m.test(output), 'it shows no stack')
    const page = await fetch(`http://127.0.0.1:${PORT}/`).then((reply) => reply.text())
    check(page.includes('<div id="root"'), 'the dashboard is served')
    const demo = run('demo', ['run', '--silent', 'demo'])
    check(demo.status === 0, 'npm run demo succeeds')
    check((demo.output.match(/^ {2}blocked/gm) ?? []).length === 2, 'it shows two blocks')
    check((demo.output.match(/\/sessions\/ses_/g) ?? []).length === 3, 'it links three sessions')
  })
  await start('second_start', async (output) => {
    check(!/^== (installing|building)/m.test(output), 'the second start neither installs nor builds')
  })
  if (withTests) {
    const tests = run('test', ['test'])
    const last = tests.output.trim().split('\n').at(-1) ?? ''
    check(/^[0-9]+ passed, 0 failed$/.test(last), `the last line of npm test: ${last}`)
    check(tests.status === 0, 'npm test succeeds')
    if (tests.status !== 0) console.log(tests.output.slice(-4000))
    figures.tests = last
  }
  const left = spawnSync('git', ['status', '--porcelain'], { cwd: clone, encoding: 'utf8' }).stdout
  check(left === '', 'the clone is still clean')
} catch (error) {
  problems.push(error.message)
  console.error(error.message)
} finally {
  if (existsSync(folder)) rmSync(folder, { recursive: true, force: true })
}
console.log(JSON.stringify({ ...figures, problems: problems.length }))
process.exitCode = problems.length === 0 ? 0 : 1
