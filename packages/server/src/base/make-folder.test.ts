import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makeFolder, NoFolder } from './make-folder.js'

const room = mkdtempSync(join(tmpdir(), 'countersign-folder-'))
afterAll(() => rmSync(room, { recursive: true, force: true }))

test('folders above are made too, with the same rights, and one that is there stays', () => {
  const deep = join(room, 'a', 'b', 'c')
  makeFolder(deep, 0o700)
  makeFolder(deep, 0o700)
  for (const folder of [deep, join(room, 'a')]) expect(statSync(folder).mode & 0o777).toBe(0o700)
})

test('a file in the way is reported by its code', () => {
  const file = join(room, 'file')
  writeFileSync(file, '')
  expect(() => makeFolder(file, 0o700)).toThrow(/EEXIST/)
  expect(() => makeFolder(join(file, 'below'), 0o700)).toThrow(/ENOTDIR/)
})

const asRoot = process.getuid?.() === 0

test.skipIf(process.platform !== 'linux' || !asRoot)('where no folder can be made, that is said at once', () => {
  expect(() => makeFolder('/proc/countersign/data', 0o700)).toThrow(NoFolder)
  expect(() => makeFolder('/proc/countersign', 0o700)).toThrow(
    '/proc/countersign cannot be created: /proc accepts no folders; choose another folder with --data-folder',
  )
})
