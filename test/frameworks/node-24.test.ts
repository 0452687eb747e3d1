import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { root } from '../support/files/tracked-files.js'
import { proves } from '../support/proves.js'

const VERSION = '24.22.0'
const TABLE = ['wire', 'ai', 'langchain', 'openai-agents'].map((name) => `test/frameworks/${name}.test.ts`)

/** Another Node, from the registry alone: 190 MB, in the folder of what is built. Null where it cannot be had. */
function installNode(): string | null {
  const name = `node-linux-${process.arch}`
  const folder = join(root, 'build', `node-${VERSION}`)
  const node = join(folder, 'node_modules', name, 'bin/node')
  if (!existsSync(node)) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
    const args = ['install', '--no-audit', '--no-fund', '--loglevel=error', `${name}@${VERSION}`]
    spawnSync('npm', args, { cwd: folder, stdio: 'inherit' })
  }
  return existsSync(node) ? node : null
}

/** What vitest reports as JSON, as far as it is read here. */
interface Report {
  readonly success: boolean
  readonly numPassedTests: number
  readonly testResults: readonly {
    readonly status: string
    /** Why a file could not be loaded. */
    readonly message: string
    readonly assertionResults: readonly {
      readonly status: string
      readonly title: string
      readonly failureMessages: readonly string[]
    }[]
  }[]
}

proves(
  'face.node-24',
  async (context) => {
    if (process.env.COUNTERSIGN_TEST_ROUNDS !== 'long') return context.skip('only in long rounds: it installs 190 MB')
    if (process.platform !== 'linux') return context.skip('only Linux is tried')
    const node = installNode()
    if (node === null) return context.skip(`Node ${VERSION} could not be installed`)
    const args = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'frameworks', '--reporter=json', ...TABLE]
    const env = { ...process.env, COUNTERSIGN_TEST_ROUNDS: '', COUNTERSIGN_TEST_BUILT: 'yes' }
    // Not synchronously: the reports of this process are waited for.
    const options = { cwd: root, env, maxBuffer: 2 ** 26 }
    const { stdout } = await promisify(execFile)(node, args, options).catch((failed: { stdout: string }) => failed)
    const { testResults, numPassedTests, success } = JSON.parse(stdout.slice(stdout.indexOf('{"'))) as Report
    const failures = testResults.flatMap(({ status, message, assertionResults }) => {
      const failed = assertionResults.filter((one) => one.status === 'failed')
      const unloaded = status === 'failed' && failed.length === 0 ? [message] : []
      return [...unloaded, ...failed.map(({ title, failureMessages }) => `${title}: ${failureMessages.join()}`)]
    })
    expect(failures).toEqual([])
    expect(success).toBe(true)
    expect(numPassedTests).toBeGreaterThan(50)
  },
  1_200_000,
)
