import { setTimeout } from 'node:timers/promises'
import { expect } from 'vitest'
import { expireOffers } from '../../../packages/server/src/workflows/expire-offers.js'
import { proves } from '../../support/proves.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'
import { offer, openWorkflow } from '../../support/runtime/workflow.js'

/** Many offers of one tenant lapse together: what they take to be written keeps nobody else waiting for long. */
const { runtime } = await withRuntime()
const { parts } = runtime.instances[0]
const { database } = parts

const lapse = (handoffIds: readonly string[]) =>
  runtime.sql`update handoffs set expires_at = now() - interval '1 hour' where handoff_id = any (${[...handoffIds]}::text[])`

proves('limit.jobs.offers', 'an offer expires without the plan of its session', async () => {
  const workflow = await openWorkflow(runtime.api())
  const { handoff_id } = await offer(workflow)
  await lapse([handoff_id])
  const plans = new Proxy(parts.plans, {
    get: () => {
      throw new Error('a plan was asked for')
    },
  })
  const services = { ...parts, plans }
  expect(await expireOffers(services)).toBe(1)
  const stored = await runtime.sql`select state from handoffs where handoff_id = ${handoff_id}`
  expect(stored).toEqual([{ state: 'expired' }])
  const events = await runtime.sql<{ type: string }[]>`
    select type from session_events where type = 'handoff_expired'`
  expect(events).toHaveLength(1)
})

proves(
  'limit.jobs.offers',
  'an offer that lapses while those of another are written waits for few of them',
  async () => {
    const [many, one] = [await runtime.createTenant(), await runtime.createTenant()]
    const left: string[] = []
    for (let at = 0; at < 8; at++) left.push((await offer(await openWorkflow(runtime.api(many.key)))).handoff_id)
    const { handoff_id: late } = await offer(await openWorkflow(runtime.api(one.key)))
    await lapse(left)
    const written: string[] = []
    const transaction: typeof database.transaction = async (tenantId, ...rest) => {
      const result = await database.transaction(tenantId, ...rest)
      if (tenantId !== many.tenantId && tenantId !== one.tenantId) return result
      written.push(tenantId)
      if (written.length === 1) await lapse([late])
      if (tenantId === many.tenantId) await setTimeout(520)
      return result
    }
    const services = { ...parts, database: { ...database, transaction } }
    while ((await expireOffers(services)) > 0);
    expect(written).toHaveLength(9)
    // Two that take 520 ms are more than the second after which the offers are listed anew; then the oldest has its turn.
    expect(written.indexOf(one.tenantId)).toBe(3)
  },
)

proves('limit.jobs.offers', 'offers that take long to fail do not end the turn of others', async () => {
  const [stuck, sound] = [await runtime.createTenant(), await runtime.createTenant()]
  const ids: string[] = []
  for (const { key } of [stuck, sound])
    for (let at = 0; at < 3; at++) ids.push((await offer(await openWorkflow(runtime.api(key)))).handoff_id)
  await lapse(ids)
  const transaction: typeof database.transaction = async (tenantId, ...rest) => {
    if (tenantId !== stuck.tenantId) return database.transaction(tenantId, ...rest)
    await setTimeout(1_200)
    throw new Error('no')
  }
  const services = { ...parts, database: { ...database, transaction } }
  expect(await expireOffers(services)).toBe(3)
})
