import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import config from '../../vitest.config.js'
import { placeOf } from './place-of.js'
import type { Sabotage } from './sabotages.js'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Vitest reads this file in the process of `npm run sabotage`, which sets the sabotage in effect. */
const holder = globalThis as typeof globalThis & { countersignSabotage?: Sabotage | undefined }

const broken = ({ file, from, to }: Sabotage): string =>
  readFileSync(`${root}${file}`, 'utf8')
    .replace(from, () => to)
    .replace('create function', 'create or replace function')

/** Changes the source on its way to the tests: no file on disk is touched. */
const saboteur = {
  name: 'saboteur',
  enforce: 'pre' as const,
  transform(code: string, id: string) {
    const row = holder.countersignSabotage
    if (row === undefined || id.split('?')[0] !== `${root}${placeOf(row.file)}`) return null
    if (row.file.endsWith('.sql')) return { code: code.replace("''", () => JSON.stringify(broken(row))), map: null }
    return { code: code.replace(row.from, () => row.to), map: null }
  },
}

const { projects = [], ...test } = config.test ?? {}

/** The tests as they are, each file with modules of its own: what one sabotage changed must not reach the next. */
export default defineConfig({
  root,
  test: {
    ...test,
    // It knows a file by what is on the disk: the next sabotage of the same file would get the code of this one.
    experimental: { fsModuleCache: false },
    projects: projects.map((project) => {
      if (typeof project !== 'object' || !('test' in project))
        throw new Error('a project of vitest.config.ts has no test')
      return { ...project, plugins: [saboteur], test: { ...project.test, isolate: true } }
    }),
  },
})
