import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { repairLinks } from './binaries.js'

test('links that a skipped install script left out are made, and those that are there are left alone', async () => {
  const root = await mkdtemp(join(tmpdir(), 'countersign-links-'))
  const lib = join(root, 'native', 'lib')
  await mkdir(lib, { recursive: true })
  await writeFile(join(lib, 'libpq.so.5.18'), 'new')
  await writeFile(join(lib, 'other'), 'old')
  await symlink('other', join(lib, 'libpq.so'))
  const links = ['libpq.so', 'libpq.so.5'].map((name) => ({
    source: 'native/lib/libpq.so.5.18',
    target: `native/lib/${name}`,
  }))
  await writeFile(join(root, 'native', 'pg-symlinks.json'), JSON.stringify(links))
  await Promise.all([repairLinks(root), repairLinks(root)])
  expect(await readFile(join(lib, 'libpq.so.5'), 'utf8')).toBe('new')
  expect(await readFile(join(lib, 'libpq.so'), 'utf8')).toBe('old')
  await rm(root, { recursive: true })
})
