import { expect, test } from 'vitest'
import { runExample } from '../support/process/example.js'
import { withRuntime } from '../support/runtime/with-runtime.js'

const { runtime } = await withRuntime()

/** Each checks itself; here only that it ran to its end is looked at. */
const EXAMPLES = [
  { name: 'observe-openai', says: 'the capture is on the server' },
  { name: 'govern-refunds', says: 'the second refund is blocked' },
  { name: 'backtest-in-ci', says: '3 of 3 sessions as expected; 2 of 6 calls blocked' },
  { name: 'anthropic-streaming', says: 'released: search' },
  { name: 'human-checkpoint', says: 'large payment of 400: deny' },
] as const

test.for(EXAMPLES)('example $name on the service', async ({ name, says }) => {
  const apiUrl = await runtime.instances[0].listen()
  expect(await runExample(`${name}/main.ts`, { apiUrl, apiKey: runtime.key })).toContain(says)
})

test('what observe-openai captured is stored, without messages', async () => {
  const rows = await runtime.sql`select to_json(c)::text as row from captures c where 'get_weather' = any (tool_names)`
  expect(rows).toHaveLength(1)
  expect(rows[0]?.row).toContain('get_weather')
  expect(rows[0]?.row).not.toContain('How is the weather')
})

test('example protect-locally, without a service', async () => {
  expect(await runExample('protect-locally/main.ts')).toContain('a mail to a stranger: blocked')
})
