import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { COMMANDS } from './commands.js'

test('every command of this folder can be called, by the name of its file', () => {
  const files = readdirSync(new URL('./commands/', import.meta.url)).filter((file) => !/\.test\./.test(file))
  expect(Object.keys(COMMANDS).sort()).toEqual(files.map((file) => file.replace(/\.ts$/, '')).sort())
})

test('every form of a command begins with its name', async () => {
  for (const [name, load] of Object.entries(COMMANDS))
    for (const form of (await load()).usage) expect(form.split(' ')[0]).toBe(name)
})
