import { afterAll, expect } from 'vitest'
import { proves } from '../../support/proves.js'
import { openSession } from '../../support/runtime/governed-session.js'
import { listIssuer, startIssuer } from '../../support/runtime/issuer.js'
import { planOf } from '../../support/runtime/plans.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

const { owner, api, runtime } = await withOwnedRuntime({ config: { COUNTERSIGN_ALLOW_LOCAL_ISSUERS: 'on' } })
const issuer = await startIssuer()
afterAll(() => issuer.close())

const limited = planOf([{ tool: 'pay', side_effect: 'write' }], {
  shared_limits: [{ name: 'per_person', tool: 'pay', per: 'principal', max_calls: 1, window: '24h' }],
})

proves(
  ['auth.principal.shown', 'people.shared-limits'],
  'a person sees on the page of a session how its principal is known, and looks up what both alices have used',
  async () => {
    const { body: me } = await owner.call('me')
    await listIssuer(runtime.sql, me.user.tenant_id, issuer)
    const pay = async (given: object) => {
      const session = await openSession(api, { plan: limited, ...given })
      await session.decide([{ name: 'pay', args: {} }])
      return (await owner.call('loadSessionDetail', { params: { session_id: session.sessionId } })).body.session
    }
    const proven = await pay({ principal_token: await issuer.token() })
    const told = await pay({ principal: 'alice' })
    expect([proven.principal_proof, told.principal_proof]).toEqual(['proven', 'as_told'])
    const { body: usage } = await owner.call('listSharedLimits', { query: { key: 'alice' } })
    expect(Object.fromEntries(usage.limits[0]?.keys.map(({ name, used }) => [name, used]) ?? [])).toEqual({
      alice: '1',
      [`alice (proven by ${issuer.name})`]: '1',
    })
  },
)
