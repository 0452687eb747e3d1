// npm run bench -- NAME [options]: builds the packages, then runs bench/NAME.ts, whose last line is one JSON object.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { useOwnTempFolder } from './own-temp-folder.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const [name, ...options] = process.argv.slice(2)
const names = readdirSync(`${root}bench`)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -3))

if (name === undefined || !existsSync(`${root}bench/${name}.ts`)) {
  console.error(`usage: npm run bench -- NAME\nbenchmarks: ${names.join(', ')}`)
  process.exit(2)
}
const run = (command, args) => {
  const { status } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) process.exit(status ?? 1)
}
if (!existsSync(`${root}node_modules`)) run('npm', ['ci'])
useOwnTempFolder()
run(process.execPath, ['scripts/build-packages.mjs'])
run(process.execPath, ['--import', 'tsx', `bench/${name}.ts`, ...options])
