import { readdirSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, test } from 'vitest'
import { COMMANDS } from './commands.js'

test('every command of this folder can be called, by the name of its file', () => {
  const files = readdirSync(new URL('./commands/', import.meta.url), { recursive: true, encoding: 'utf8' })
  const names = files.filter((file) => /^[^.]+\.ts$/.test(file)).map((file) => basename(file, '.ts'))
  expect(Object.keys(COMMANDS).sort()).toEqual(names.sort())
})

test('every form of a command begins with its name', async () => {
  for (const [name, load] of Object.entries(COMMANDS))
    for (const form of (await load()).usage) expect(form.split(' ')[0]).toBe(name)
})
