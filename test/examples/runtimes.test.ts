import { execFile, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, type TestContext } from 'vitest'
import { root } from '../support/files/tracked-files.js'
import { buildOnce } from '../support/process/command-line.js'
import { proves } from '../support/proves.js'
import { exportOf } from '../support/runtime/ledger-export.js'
import { type Runtime, startRuntime } from '../support/runtime/runtime.js'

/** A governed turn in other JavaScript runtimes than Node. They are installed for this test alone: 350 MB. */
const PACKAGES = {
  bun: { name: `@oven/bun-linux-${process.arch === 'arm64' ? 'aarch64' : 'x64'}`, version: '1.4.4', path: 'bin/bun' },
  deno: { name: `@deno/linux-${process.arch}-glibc`, version: '2.9.5', path: 'deno' },
  workerd: {
    name: `@cloudflare/workerd-linux-${process.arch === 'arm64' ? 'arm64' : '64'}`,
    version: '1.20261104.1',
    path: 'bin/workerd',
  },
}

const PROGRAM = `
import { replay } from '@countersign/sdk'
const look = { tool: 'look', side_effect: 'read', arguments: { type: 'object', properties: { at: { type: 'string', pattern: '^[a-z]+$' } } } }
const asked = ['{"at":"x"}', '{"at":5}']
const create = async () => ({ choices: [{ index: 0, finish_reason: 'tool_calls', message: { role: 'assistant', content: null,
  tool_calls: [{ id: 'c' + asked.length, type: 'function', function: { name: 'look', arguments: asked.shift() } }] } }] })
const request = { model: 'm', messages: [], tools: [{ type: 'function', function: { name: 'look' } }] }
export async function main({ url, key }) {
  const session = replay({ chat: { completions: { create } } }, {
    agent: 'runtimes', contracts: look, apiKey: key, runtimeUrl: url, tools: { look: ({ at }) => 'saw ' + at },
  })
  await session.client.chat.completions.create(request)
  const ran = await session.tools.look({ at: 'x' })
  const error = await session.client.chat.completions.create(request).catch((thrown) => thrown)
  const { authorityState } = session.getHealth()
  await session.restore()
  return JSON.stringify({ ran, error: error.name, reason: error.decision?.blocked[0].reason, authorityState, id: session.sessionId })
}
`

/** Not synchronously: the service runs in this process. */
const run = promisify(execFile)

const isLong = process.env.COUNTERSIGN_TEST_ROUNDS === 'long'
const skipped = isLong ? (process.platform === 'linux' ? null : 'only Linux is tried') : 'npm run test:long runs it'

describe.skipIf(skipped !== null)(
  `the SDK in other runtimes${skipped === null ? '' : ` (skipped: ${skipped})`}`,
  () => {
    let folder: string
    let runtime: Runtime
    let url: string
    beforeAll(async () => {
      buildOnce()
      folder = mkdtempSync(join(tmpdir(), 'countersign-runtimes-'))
      writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
      writeFileSync(join(root, 'build', 'runtimes.mjs'), PROGRAM)
      await build({
        entryPoints: [join(root, 'build', 'runtimes.mjs')],
        outfile: join(folder, 'program.mjs'),
        bundle: true,
        format: 'esm',
        platform: 'neutral',
        external: ['node:*'],
      })
      runtime = await startRuntime()
      url = await runtime.instances[0].listen()
    }, 600_000)
    afterAll(async () => {
      await runtime?.close()
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
    })

    /** The runtime's program; skips the test where the registry does not have it. */
    function install(name: keyof typeof PACKAGES, context: TestContext): string {
      const { name: packageName, version, path } = PACKAGES[name]
      const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', `${packageName}@${version}`]
      try {
        execFileSync('npm', args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
      } catch (error) {
        const reason = String((error as { stderr?: unknown }).stderr)
        console.warn(`${packageName} ${version} could not be installed: ${reason}`)
        context.skip(`${packageName} ${version} could not be installed`)
      }
      return join(folder, 'node_modules', packageName, path)
    }

    async function expectGoverned(output: string): Promise<void> {
      const { id, ...said } = JSON.parse(output)
      expect(said).toEqual({
        ran: 'saw x',
        error: 'ReplayContractError',
        reason: 'argument_value_mismatch',
        authorityState: 'active',
      })
      const { events } = await exportOf(runtime.api(), id)
      const types = events.map(({ type }) => type)
      expect(types.filter((type) => type === 'proposal')).toHaveLength(2)
      expect(types.filter((type) => type === 'receipts')).toHaveLength(1)
    }

    const writeMain = () =>
      writeFileSync(
        join(folder, 'main.mjs'),
        `import { main } from './program.mjs'
console.log(await main(${JSON.stringify({ url, key: runtime.key })}))\n`,
      )

    proves('sdk.runtimes', 'Bun', async (context) => {
      const bun = install('bun', context)
      writeMain()
      await expectGoverned((await run(bun, ['main.mjs'], { cwd: folder })).stdout)
    })

    proves('sdk.runtimes', 'Deno', async (context) => {
      const deno = install('deno', context)
      writeMain()
      const args = ['run', '--allow-all', '--no-lock', 'main.mjs']
      await expectGoverned((await run(deno, args, { cwd: folder })).stdout)
    })

    proves('sdk.runtimes', 'Workers, where no code may be generated', async (context) => {
      const workerd = install('workerd', context)
      const port = await freePort()
      writeFileSync(
        join(folder, 'worker.mjs'),
        `import { main } from './program.mjs'
export default { fetch: async () => new Response(await main(${JSON.stringify({ url, key: runtime.key })}).catch((error) => error.stack)) }\n`,
      )
      await build({
        entryPoints: [join(folder, 'worker.mjs')],
        outfile: join(folder, 'bundled.mjs'),
        bundle: true,
        format: 'esm',
        platform: 'neutral',
        external: ['node:*'],
      })
      writeFileSync(
        join(folder, 'config.capnp'),
        `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["private"])) ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")] );
const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "bundled.mjs")],
  compatibilityDate = "2026-01-01", compatibilityFlags = ["nodejs_compat"] );\n`,
      )
      const child = spawn(workerd, ['serve', 'config.capnp'], { cwd: folder, stdio: 'inherit' })
      try {
        let output = ''
        // Not before it listens; the request that it answers runs the program.
        await expect
          .poll(async () => {
            output = await fetch(`http://127.0.0.1:${port}/`).then(
              (reply) => reply.text(),
              () => '',
            )
            return output
          })
          .not.toBe('')
        await expectGoverned(output)
      } finally {
        child.kill()
      }
    })
  },
)

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
