import { expect, test } from 'vitest'
import { runExample } from '../support/process/example.js'
import { withRuntime } from '../support/runtime/with-runtime.js'

const { runtime } = await withRuntime()

/** Each checks itself; here only that it ran to its end is looked at. */
test.for(['ai-sdk', 'langchain', 'openai-agents'])('example %s on the service', async (name) => {
  const apiUrl = await runtime.instances[0].listen()
  const said = await runExample(`frameworks/${name}/main.ts`, { apiUrl, apiKey: runtime.key })
  expect(said).toContain('refunded: 40')
})
