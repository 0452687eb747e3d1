import { expect } from 'vitest'
import { ReplayContractError } from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { calls, results } from '../../support/runtime/agent.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

const { agent, runtime } = await withAgentAndRuntime()

const contracts = [{ tool: 'look', side_effect: 'read' as const }]
const governed = { contracts, tools: { look: () => 'found' }, apiKey: runtime.key, fetch: runtime.fetch }

proves('error.code', 'a refusal carries the code of the server', async () => {
  const first = agent.start({ ...governed, sessionId: 'ses-held' })
  agent.provider.enqueue(calls(['look', {}]))
  await first.ask(['look'])
  const second = agent.start({ ...governed, sessionId: 'ses-held' })
  const error = await second.ask(['look']).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ReplayContractError)
  expect((error as ReplayContractError).code).toBe('LEASE_ACTIVE')
})

proves(
  'error.first-sentence',
  'with a revoked key a turn speaks of the key, not of the receipts that wait for it',
  async () => {
    const { session, ask } = agent.start(governed)
    agent.provider.enqueue(calls(['look', {}, 'c1']))
    const first = await ask(['look'])
    const [key] = await runtime.sql`update api_keys set revoked_at = clock_timestamp() returning key_id`
    await session.tools?.look?.({}, { callId: 'c1' })
    const error = await ask(['look'], results(first)).catch((thrown: unknown) => thrown)
    await runtime.sql`update api_keys set revoked_at = null where key_id = ${key?.keyId ?? ''}`
    expect((error as ReplayContractError).code).toBe('UNAUTHENTICATED')
    expect((error as Error).message).toMatch(/^[^.;]*401/)
  },
)
