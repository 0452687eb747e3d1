#!/usr/bin/env node
// Not in dist: npm links a command only when its file is there at the install, and dist is built after that.
import { existsSync } from 'node:fs'

const main = new URL('../dist/main.js', import.meta.url)
if (existsSync(main)) {
  await import(main.href)
} else {
  process.stderr.write('countersign: not built yet; run npm start or npm run build at the top of the repository\n')
  process.exitCode = 1
}
