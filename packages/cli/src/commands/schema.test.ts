import { expect, test } from 'vitest'
import { UsageError } from '../terminal/command.js'
import { schema } from './schema.js'

async function run(...args: string[]) {
  const printed: string[] = []
  await schema.run(args, { print: (line) => printed.push(line), note: () => {} })
  return JSON.parse(printed.join('\n'))
}

test('prints the schema of one file, or of all three', async () => {
  const all = await run()
  expect(Object.keys(all)).toEqual(['contract', 'session', 'test'])
  expect(await run('contract')).toEqual(all.contract)
  expect(all.contract).toMatchObject({ required: ['tool'], additionalProperties: false })
  expect(all.session.properties).toHaveProperty('session_limits')
  expect(all.test.properties).toHaveProperty('stories')
})

test('another name is wrong usage', async () => {
  await expect(run('plan')).rejects.toThrow(UsageError)
  await expect(run('contract', 'session')).rejects.toThrow('expected one of contract, session, test')
})
