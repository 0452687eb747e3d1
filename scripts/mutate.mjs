// npm run mutate: mutation testing of the rules and the ladder by the cases of test/cases. Stryker is installed in
// tools/, apart from the workspace, so that npm start does not bring it. Not part of CI.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const run = (command, args, cwd) => {
  const { status } = spawnSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) process.exit(status ?? 1)
}
for (const folder of [root, `${root}tools`]) {
  if (!existsSync(`${folder}/node_modules`)) run('npm', ['ci', '--no-audit', '--no-fund'], folder)
}
const stryker = 'tools/node_modules/@stryker-mutator/core/bin/stryker.js'
const runner = fileURLToPath(new URL('../tools/case-runner.mjs', import.meta.url))
const options = ['--plugins', runner, ...process.argv.slice(2)]
run(process.execPath, [stryker, 'run', 'tools/stryker.config.json', ...options], root)
