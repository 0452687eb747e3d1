import { expect } from 'vitest'
import { heldThread } from '../../../packages/server/src/base/work/held-thread.js'
import { turns } from '../../../packages/server/src/base/work/in-turns.js'
import { processorMs } from '../../../packages/server/src/base/work/processor-time.js'
import { inPieces } from '../../../packages/server/src/context/work.js'
import { proves } from '../../support/proves.js'
import { expectStatus, LOOKUP, openSession, succeeded } from '../../support/runtime/governed-session.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const { runtime } = await withRuntime()

/** One step that nothing divides. */
function* holding(ms: number) {
  const end = processorMs() + ms
  while (processorMs() < end) {}
  yield
}

proves(
  'limit.fair.held-thread',
  'who blocked the thread is refused on every route, but may stop what runs and report what ran',
  async () => {
    const { key, tenantId } = await runtime.createTenant()
    const session = await openSession(runtime.api(key))
    const { decisions } = await session.decide([LOOKUP])
    heldThread.note(tenantId, 2_000)

    const refused = await runtime.api(key).createSession({ body: { session_id: 'ses-x', holder_id: 'h' } })
    expectStatus(refused, 429)
    expect(refused.problem.detail).toMatch(
      /^requests of this tenant held up other tenants; try again in (29|30) seconds/,
    )
    expect(refused.headers.get('retry-after')).toMatch(/^(29|30)$/)
    await expect(session.load()).rejects.toThrow('answered 429')

    expectStatus(await session.receipts(succeeded(decisions)), 200)
    expectStatus(await session.api.killSession({ params: { session_id: session.sessionId }, body: {} }), 200)

    const other = await openSession(runtime.api((await runtime.createTenant()).key))
    await other.turn([LOOKUP])
  },
)

proves('limit.fair.held-thread', 'work of any kind is timed, step by step', async () => {
  const owes = (owner: string) => {
    try {
      heldThread.requireShare(owner)
      return false
    } catch {
      return true
    }
  }
  await turns.run({ tenantId: 'reading', isOwed: true }, holding(700))
  expect(owes('reading')).toBe(true)
  await inPieces('hashing', holding(700))
  expect(owes('hashing')).toBe(true)
  await turns.run({ tenantId: 'short', isOwed: true }, holding(50))
  expect(owes('short')).toBe(false)
})
