import { afterAll, expect, test } from 'vitest'
import { openSession, type ReplayOptions } from '../../../packages/sdk/src/index.js'
import { proves } from '../../support/proves.js'
import { callNames, calls } from '../../support/runtime/agent.js'
import { listIssuer, startIssuer } from '../../support/runtime/issuer.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

const { agent, runtime } = await withAgentAndRuntime({ config: { COUNTERSIGN_ALLOW_LOCAL_ISSUERS: 'on' } })
const issuer = await startIssuer()
await listIssuer(runtime.sql, runtime.tenantId, issuer)
afterAll(() => issuer.close())

const PROVEN = 'permit (principal, action, resource) when { principal.proven && principal.groups.contains("staff") };'
const contracts = [
  { tool: 'look', side_effect: 'read' as const, principal: 'proven' as const, policy: { cedar: PROVEN } },
]
const tools = { look: () => ({ found: true }) }
const start = (options: ReplayOptions) =>
  agent.start({ apiKey: runtime.key, fetch: runtime.fetch, contracts, tools, timeoutMs: 5_000, ...options })
const staff = () => issuer.token({ groups: ['staff'] })

proves(
  'option.principal-token',
  'a function is asked for a token when a session is opened, and rules see what it proves',
  async () => {
    let asked = 0
    const principalToken = () => {
      asked++
      return staff()
    }
    const { session, ask } = start({ principalToken })
    agent.provider.enqueue(calls(['look']))
    const first = await ask(['look'])
    expect(callNames(first)).toEqual(['look'])
    expect(await session.tools?.look?.({})).toEqual({ found: true })
    const { body } = await runtime.api().loadSession({ params: { session_id: session.sessionId } })
    expect([body.session.principal_proof, asked]).toEqual(['proven', 1])
    await session.restore()
  },
)

proves('option.principal-token', 'a string opens one session, and the next one is refused with why', async () => {
  const principalToken = await staff()
  const first = start({ principalToken })
  agent.provider.enqueue(calls(['look']))
  expect(callNames(await first.ask(['look']))).toEqual(['look'])
  const second = start({ principalToken })
  await expect(second.ask(['look'])).rejects.toThrow('it has opened another session (jti)')
})

test('a reply that was lost is asked for again, and the session is the same', async () => {
  let lost = 0
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const reply = await runtime.fetch(input, init)
    if (!String(input).endsWith('/sessions') || lost++ > 0) return reply
    throw new TypeError('the reply was lost')
  }
  const { session, ask } = start({ principalToken: staff, fetch })
  agent.provider.enqueue(calls(['look']))
  expect(callNames(await ask(['look']))).toEqual(['look'])
  expect(lost).toBe(2)
  const { body } = await runtime.api().exportEvents({ params: { session_id: session.sessionId } })
  expect(body.events.map(({ type }) => type)).toEqual(['created', 'proposal'])
})

proves(
  'option.principal-token',
  'a function that fails lets nothing through, and is asked again by the next turn',
  async () => {
    let asked = 0
    const principalToken = async () => {
      if (asked++ < 2) throw new Error('the sign-in is away')
      return staff()
    }
    const { ask } = start({ principalToken, onError: 'allow' })
    await expect(ask(['look'])).rejects.toThrow('the function of the option principalToken failed')
    agent.provider.enqueue(calls(['look']))
    let answer: Awaited<ReturnType<typeof ask>> | undefined
    for (let tries = 0; answer === undefined && tries < 3; tries++) answer = await ask(['look']).catch(() => undefined)
    expect(answer && callNames(answer)).toEqual(['look'])
    const { ask: askNobody } = start({ principalToken: () => '' })
    await expect(askNobody(['look'])).rejects.toThrow('returned no token')
  },
)

proves(
  'option.principal-token.needs-server',
  'where no server can check a token, contracts that want one are refused',
  () => {
    const refused = (options: ReplayOptions) => () => agent.start({ contracts, principal: 'alice', ...options })
    expect(refused({})).toThrow('pass principalToken and apiKey (or COUNTERSIGN_API_KEY) and tools')
    expect(refused({ apiKey: runtime.key })).toThrow('pass principalToken and tools')
    expect(refused({ apiKey: runtime.key, tools })).toThrow('pass principalToken')
    expect(refused({ principalToken: 'x' })).toThrow('give either principal or principalToken')
    expect(() => agent.start({ contracts, principal: { id: 'a', proven: true } })).toThrow(
      'only a principal token proves',
    )
    expect(() => agent.start({ contracts, principalToken: 5 as never })).toThrow('must be a string or a function')
    expect(() => agent.start({ contracts, principalToken: '' })).toThrow('must have 1 to 8192 characters')
    // It only watches.
    agent.start({ contracts, principal: 'alice', mode: 'shadow' })
  },
)

proves(
  'option.principal-token.needs-server',
  'a service that never answered leaves nobody to check a token',
  async () => {
    const fetch = () => Promise.reject(new TypeError('away'))
    const { ask } = start({ principalToken: staff, fetch, onError: 'allow', timeoutMs: 300 })
    await expect(ask(['look'])).rejects.toThrow('the server cannot be reached')
  },
)

test('openSession takes a token as well', async () => {
  const session = openSession({ apiKey: runtime.key, fetch: runtime.fetch, contracts, tools, principalToken: staff })
  expect(await session.narrowed(['look'])).toEqual({ allowed: ['look'], removed: [] })
  await session.close()
})
