// npm run fixtures: records again what the service answers to the dashboard, for the page tests.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url))
const test = 'test/server/dashboard/recorded-replies.test.ts'
const { status } = spawnSync(process.execPath, [vitest, 'run', '--project', 'server', test], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, COUNTERSIGN_RECORD: '1' },
})
process.exitCode = status ?? 1
