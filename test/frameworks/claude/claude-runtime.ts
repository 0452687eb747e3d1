import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../support/files/tracked-files.js'
import { buildOnce } from '../../support/process/command-line.js'
import type { Runtime } from '../../support/runtime/runtime.js'
import type { ClaudeSdk } from './claude-face.js'

/** Where the Claude Agent SDK is installed, beside its example. */
export const claudeFolder = join(root, 'examples/frameworks/claude')
const entry = join(claudeFolder, 'node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs')

export const loadClaude = (): Promise<ClaudeSdk> => import(entry)

/** Why the real runtime is not tried: 420 MB, and not free software. Null where it is installed. */
export function whyNotInstalled(): string | null {
  if (process.env.COUNTERSIGN_TEST_ROUNDS !== 'long') return 'only in long rounds: it installs 420 MB'
  const args = ['install', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error']
  if (!existsSync(entry)) spawnSync('npm', args, { cwd: claudeFolder, stdio: 'inherit' })
  return existsSync(entry) ? null : '@anthropic-ai/claude-agent-sdk could not be installed'
}

/** Runs a program beside the example, where the runtime is installed, with the packages as they are built. */
export async function runProgram(
  runtime: Runtime,
  file: string,
  cwd: string,
  env: Record<string, string>,
): Promise<string> {
  buildOnce()
  const url = await runtime.instances[0].listen()
  const { PATH = '' } = process.env
  const service = { COUNTERSIGN_API_KEY: runtime.key, COUNTERSIGN_API_URL: url }
  const child = spawn(process.execPath, ['--import', 'tsx', file], { cwd, env: { PATH, ...service, ...env } })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  await new Promise((done) => child.once('close', done))
  return output
}
