// node scripts/packed.mjs [--keep]: packs every package, installs the tarballs in an empty folder, and runs
// `npx countersign start` and a program with the SDK there, as someone would who has only the packages: compiled with
// strict types, as ESM and with `require`, on this Node and on Node 24.
import { spawn, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const keep = process.argv.includes('--keep')
const PACKAGES = ['protocol', 'engine', 'server', 'sdk', 'gateway', 'dashboard', 'cli']
/** The largest allowed download, without dependencies. */
const MAX_KILOBYTES = { protocol: 200, engine: 400, server: 400, sdk: 650, gateway: 100, dashboard: 1500, cli: 60 }

/** The dependencies that come with the SDK; Cedar is installed separately, for policies. */
const EXPECTED = ['json-p3', 're2js', 'yaml', 'zod']
const STRICT = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--target', 'es2023']

const folder = mkdtempSync(join(tmpdir(), 'countersign-packed-'))
const program = join(folder, 'program')
let server

try {
  if (!existsSync(join(root, 'packages/dashboard/dist/index.html'))) run('npm', ['run', '--silent', 'build'], root)
  for (const name of PACKAGES) pack(name)
  mkdirSync(program)
  writeFileSync(join(program, 'package.json'), '{ "name": "program", "private": true, "type": "module" }\n')
  const tarballs = readdirSync(folder).filter((file) => file.endsWith('.tgz'))
  install(program, ...tarballs.map((file) => join(folder, file)))
  const service = await tryService()
  await trySdk(service)
  console.log('packed: the packages work in an empty folder')
} catch (error) {
  console.error(`packed: ${error.message}`)
  process.exitCode = 1
} finally {
  if (server && server.exitCode === null) {
    // npx does not forward signals, so the whole process group is ended.
    process.kill(-server.pid, 'SIGTERM')
    await new Promise((done) => server.once('close', done))
  }
  if (keep) console.log(`packed: the folder is ${folder}`)
  else rmSync(folder, { recursive: true, force: true })
}

function run(command, args, cwd, env = {}) {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
  if (status !== 0) throw new Error(`${command} ${args[0]} failed:\n${stdout}${stderr}`)
  return stdout
}

function pack(name) {
  const output = run('npm', ['pack', '--json', '--pack-destination', folder], join(root, 'packages', name))
  const [{ filename, size, files }] = JSON.parse(output)
  const paths = files.map(({ path }) => path)
  const kilobytes = Math.ceil(size / 1024)
  const wrong = [
    ...['LICENSE', 'README.md', 'package.json'].filter((path) => !paths.includes(path)).map((path) => `lacks ${path}`),
    ...paths.filter((path) => /\.test\.|tsbuildinfo|^src\//.test(path)).map((path) => `holds ${path}`),
    ...(kilobytes > MAX_KILOBYTES[name] ? [`is ${kilobytes} KiB, more than ${MAX_KILOBYTES[name]}`] : []),
  ]
  if (wrong.length > 0) throw new Error(`${filename} ${wrong.join('; ')}`)
  console.log(`packed: ${filename}, ${kilobytes} KiB, ${files.length} files`)
}

async function tryService() {
  server = spawn('npx', ['countersign', 'start', '--port', '0', '--log-level', 'warn'], {
    cwd: program,
    detached: true,
  })
  let output = ''
  const url = await new Promise((done, fail) => {
    const timer = setTimeout(() => fail(new Error(`the server did not start:\n${output}`)), 120_000)
    for (const stream of [server.stdout, server.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk
        const found = /is running at (http:\S+)/.exec(output)
        if (found) {
          clearTimeout(timer)
          done(found[1])
        }
      })
    }
    server.once('close', () => fail(new Error(`the server ended:\n${output}`)))
  })
  for (const [path, expected] of [
    ['/readyz', '"ready"'],
    ['/', '<div id="root"'],
    ['/openapi.json', '"openapi"'],
  ]) {
    const reply = await fetch(`${url}${path}`)
    if (!reply.ok || !(await reply.text()).includes(expected))
      throw new Error(`${path} of the packed server did not return the expected content`)
  }
  console.log(`packed: the server runs at ${url}, with the dashboard`)
  const created = run('npx', ['countersign', 'tenant', 'create', 'packed', '--quota', 'scale'], program)
  const [key] = /csk_[\w-]{32}/.exec(created) ?? []
  if (key === undefined) throw new Error(`the new tenant has no key in its output:\n${created}`)
  return { COUNTERSIGN_API_URL: url, COUNTERSIGN_API_KEY: key }
}

/** The versions that the repository is tested with. */
function pinned(...names) {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return names.map((name) => `${name}@${devDependencies[name]}`)
}

async function trySdk(service) {
  checkDependencies()
  copyFileSync(join(root, 'scripts/packed/agent.ts'), join(program, 'agent.ts'))
  install(program, ...pinned('openai', '@anthropic-ai/sdk', 'typescript', '@types/node'))
  run('npx', ['tsc', ...STRICT, '--module', 'nodenext', '--types', 'node', 'agent.ts'], program)
  writeFileSync(
    join(program, 'required.cjs'),
    `const { validate } = require('@countersign/sdk')
const contracts = [{ tool: 'search', arguments: { type: 'object', required: ['query'] } }]
const judge = (text) => validate({ tool_calls: [{ id: 'c', name: 'search', arguments: text }] }, { contracts }).pass
if (!judge('{"query":"x"}') || judge('{}')) throw new Error('validate is wrong')\n`,
  )
  for (const node of [process.execPath, node24()]) {
    run(node, ['required.cjs'], program)
    process.stdout.write(`packed: ${run(node, ['agent.js'], program, service)}`)
  }
}

function install(folderOf, ...packages) {
  run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', ...packages], folderOf)
}

/** The npm package `node` is a Node. It gets its own folder, because it would come first on the program's path. */
function node24() {
  const own = join(folder, 'node-24')
  mkdirSync(own)
  writeFileSync(join(own, 'package.json'), '{ "private": true }\n')
  install(own, 'node@24')
  return join(own, 'node_modules/node/bin/node')
}

function checkDependencies() {
  const packageOf = (name) => JSON.parse(readFileSync(join(program, 'node_modules', name, 'package.json'), 'utf8'))
  const ours = ['@countersign/sdk', '@countersign/engine', '@countersign/protocol']
  const named = ours.flatMap((name) => Object.keys(packageOf(name).dependencies ?? {}))
  const foreign = [...new Set(named)].filter((name) => !ours.includes(name)).sort()
  if (foreign.join() !== EXPECTED.join())
    throw new Error(`the SDK depends on ${foreign.join(', ')}, not on ${EXPECTED.join(', ')}`)
}
