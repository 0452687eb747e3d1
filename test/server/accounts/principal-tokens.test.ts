import { createHmac, randomUUID } from 'node:crypto'
import type { Contract, SessionDefinition } from '@countersign/protocol'
import { afterAll, expect, test } from 'vitest'
import { issuer as issuerCommand } from '../../../packages/cli/src/commands/operator/issuer.js'
import { session as sessionCommand } from '../../../packages/cli/src/commands/session.js'
import { verify } from '../../../packages/cli/src/commands/verify.js'
import { createIssuerKeys } from '../../../packages/server/src/accounts/principals/issuer-keys.js'
import { readConfig } from '../../../packages/server/src/base/config.js'
import { createMemories } from '../../../packages/server/src/base/memories.js'
import { addressKind } from '../../../packages/server/src/base/outbound/addresses.js'
import { readJson } from '../../../packages/server/src/base/outbound/read-json.js'
import { addIssuer } from '../../../packages/server/src/process/operator.js'
import { deleteExpiredTokens } from '../../../packages/server/src/store/sessions/used-tokens.js'
import { proves } from '../../support/proves.js'
import { attachSession, openSession } from '../../support/runtime/governed-session.js'
import { claimsOf, startIssuer, type TestIssuer } from '../../support/runtime/issuer.js'
import { exportOf } from '../../support/runtime/ledger-export.js'
import { HELP_DESK, planOf } from '../../support/runtime/plans.js'
import { createApi } from '../../support/runtime/runtime.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'

/** The clock of the service, as far ahead of this machine's. */
let aheadMs = 0
const { runtime } = await withRuntime({
  config: { COUNTERSIGN_ALLOW_LOCAL_ISSUERS: 'on' },
  parts: { clock: () => new Date(Date.now() + aheadMs) },
})
const { parts } = runtime.instances[0]
const url = await runtime.instances[0].listen()
/** Over a real socket. */
const apiOf = (key: string) =>
  createApi(
    (request) => fetch(new Request(String((request as Request).url).replace(ORIGIN, url), request as Request)),
    key,
  )
const ORIGIN = 'http://127.0.0.1:4319'
const api = apiOf(runtime.key)

const issuer = await listed(await startIssuer())
afterAll(() => issuer.close())

async function listed(made: TestIssuer, tenantId = runtime.tenantId): Promise<TestIssuer> {
  const { name, jwksUri, audience } = made
  const config = { ...parts.config, databaseUrl: runtime.databaseUrl }
  await addIssuer(
    { tenantId, issuer: name, jwksUri, audience, algorithms: ['ES256', 'RS256'], groupsClaim: 'groups' },
    config,
  )
  return made
}

const plan = planOf(HELP_DESK)
const bodyOf = (principal_token: string, given: object = {}) => ({
  session_id: `ses-${randomUUID()}`,
  holder_id: 'holder-1',
  compiled_hash: plan.compiled_hash,
  compiled_session: plan.compiled_session,
  principal_token,
  ...given,
})
async function create(token: string, given: object = {}, by = api) {
  const { status, body, problem, headers } = await by.createSession({ body: bodyOf(token, given) })
  return { status, body, headers, code: problem.code, detail: String(problem.detail) }
}

proves(
  'auth.principal.proven',
  'a token of a listed issuer proves issuer, subject, groups and actor, which rules see',
  async () => {
    const act = { sub: 'agent-7', iss: 'https://agents.example.test', extra: 1, act: { sub: 'scheduler' } }
    const { status, body } = await create(await issuer.token({ groups: ['finance', 'finance', 'staff'], act }))
    expect(status).toBe(201)
    expect(body.session.principal_proof).toBe('proven')
    expect(body.principal).toEqual({
      id: 'alice',
      issuer: 'https://id.example.test',
      groups: ['finance', 'staff'],
      act: { id: 'agent-7', issuer: 'https://agents.example.test', act: { id: 'scheduler' } },
      proven: true,
    })
    expect(JSON.stringify(body.session)).not.toContain('alice')
  },
)

const hs256 = (claims: object, secret: string) => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg: 'HS256', kid: 'key-1' })}.${part(claims)}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}
const good = () => claimsOf(issuer.name, issuer.audience)
const inSeconds = (seconds: number) => Math.floor(Date.now() / 1_000) + seconds
const unsigned = (alg: string) =>
  `${Buffer.from(JSON.stringify({ alg })).toString('base64url')}.${Buffer.from(JSON.stringify(good())).toString('base64url')}.`

const REFUSED: Readonly<Record<string, readonly [make: () => Promise<string> | string, detail: string]>> = {
  'alg none': [() => unsigned('none'), 'its algorithm (alg)'],
  'alg None': [() => unsigned('None'), 'its algorithm (alg)'],
  'the public key as a shared secret': [() => hs256(good(), JSON.stringify(issuer.publicKey())), 'its algorithm (alg)'],
  'another algorithm in its header': [
    async () =>
      (await issuer.token()).replace(/^[^.]+/, Buffer.from('{"alg":"RS256","kid":"key-1"}').toString('base64url')),
    'no such key (kid)',
  ],
  'a changed claim': [
    async () => {
      const [head, , signature] = (await issuer.token()).split('.')
      return [head, Buffer.from(JSON.stringify({ ...good(), sub: 'bob' })).toString('base64url'), signature].join('.')
    },
    'its signature is wrong',
  ],
  'another audience': [() => issuer.token({ aud: 'someone-else' }), 'its audience (aud)'],
  'no audience': [() => issuer.token({ aud: undefined }), 'its audience (aud)'],
  'an unlisted issuer': [() => issuer.token({ iss: 'https://evil.example.test' }), 'its issuer (iss) is not listed'],
  'an issuer with a NUL': [() => issuer.token({ iss: 'https://id.example.test\0' }), 'its issuer (iss) is not listed'],
  'no issuer': [() => issuer.token({ iss: undefined }), 'its issuer (iss) is not listed'],
  'expired 61 seconds ago': [() => issuer.token({ iat: inSeconds(-600), exp: inSeconds(-61) }), 'it has expired (exp)'],
  'not valid for 65 seconds': [() => issuer.token({ nbf: inSeconds(65) }), 'it is not valid yet (nbf)'],
  'issued in 65 seconds': [() => issuer.token({ iat: inSeconds(65) }), 'it was issued later (iat)'],
  'a life of 3,601 seconds': [
    () => issuer.token({ iat: inSeconds(0), exp: inSeconds(3_601) }),
    'longer than 60 minutes',
  ],
  'no end': [() => issuer.token({ exp: undefined }), 'no end (exp)'],
  'no time of issue': [() => issuer.token({ iat: undefined }), 'when it was issued (iat)'],
  'no id': [() => issuer.token({ jti: undefined }), 'no id (jti)'],
  'an id that is a number': [() => issuer.token({ jti: 7 }), 'its claim jti'],
  'no subject': [() => issuer.token({ sub: undefined }), 'no subject (sub)'],
  'an empty subject': [() => issuer.token({ sub: '' }), 'its claim sub'],
  'a subject with a NUL': [() => issuer.token({ sub: 'a\0' }), 'its claim sub'],
  'groups that are no texts': [() => issuer.token({ groups: ['a', 7] }), 'its groups (groups)'],
  'an actor without a name': [() => issuer.token({ act: { iss: 'https://x.test' } }), 'its actor (act)'],
  'an unknown key': [() => issuer.token({}, { kid: 'key-99' }), 'no such key (kid)'],
  'no JWT': [() => 'alice', 'not a signed JWT'],
  'an encrypted JWT': [() => 'e30.e30.e30.e30.e30', 'not a signed JWT'],
}

proves(
  'auth.principal.token-checks',
  'what is wrong with a token is 401, and the detail says which check failed',
  async () => {
    const answers: Record<string, unknown> = {}
    for (const [name, [make, expected]] of Object.entries(REFUSED)) {
      const { status, code, detail } = await create(await make())
      answers[name] = [status, code, detail.includes(expected) ? expected : detail]
    }
    const expected = Object.entries(REFUSED).map(([name, [, detail]]) => [
      name,
      [401, 'PRINCIPAL_TOKEN_INVALID', detail],
    ])
    expect(answers).toEqual(Object.fromEntries(expected))
    const [row] =
      await runtime.sql`select count(*)::int from used_tokens where session_id not in (select session_id from sessions)`
    expect(row).toEqual({ count: 0 })
  },
)

proves(
  'auth.principal.clock-skew',
  'a clock that is 55 seconds wrong is no reason to refuse, in either direction',
  async () => {
    const behind = await create(await issuer.token({ iat: inSeconds(-600), exp: inSeconds(-55) }))
    const ahead = await create(await issuer.token({ iat: inSeconds(55), nbf: inSeconds(55), exp: inSeconds(600) }))
    const longest = await create(await issuer.token({ iat: inSeconds(0), exp: inSeconds(3_600) }))
    expect([behind.status, ahead.status, longest.status]).toEqual([201, 201, 201])
  },
)

proves('auth.principal.token-once', 'a token that has opened a session opens no other, also not at once', async () => {
  const token = await issuer.token()
  const session_id = `ses-${randomUUID()}`
  const first = await create(token, { session_id })
  expect(first.status).toBe(201)
  // The reply was lost: with the same token, and with a new one for the same person.
  expect((await create(token, { session_id })).body).toEqual(first.body)
  expect((await create(await issuer.token({ groups: ['new'] }), { session_id })).body).toEqual(first.body)
  const other = await create(token)
  expect([other.status, other.code, other.detail]).toEqual([
    401,
    'PRINCIPAL_TOKEN_INVALID',
    'it has opened another session (jti)',
  ])
  const bob = await create(await issuer.token({ sub: 'bob' }), { session_id })
  expect([bob.status, bob.code]).toEqual([409, 'SESSION_EXISTS'])
  const raced = await issuer.token()
  const answers = await Promise.all(Array.from({ length: 20 }, () => create(raced)))
  expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 19 }, () => 401)])
})

test('a token in a workflow opens one session as well', async () => {
  const token = await issuer.token()
  const workflow = () => ({
    workflow: { workflow_id: `wf-${randomUUID()}`, role: 'lead', definition: { roles: { lead: {} }, handoffs: [] } },
  })
  const [first, second] = [await create(token, workflow()), await create(token, workflow())]
  expect([first.status, first.body.session.principal_proof, second.status, second.code]).toEqual([
    ...[201, 'proven'],
    ...[401, 'PRINCIPAL_TOKEN_INVALID'],
  ])
})

test('used tokens are forgotten a day after they have expired', async () => {
  await create(await issuer.token())
  expect(await deleteExpiredTokens(runtime.sql, 1, 100)).toBe(0)
  await runtime.sql`update used_tokens set expires_at = expires_at - interval '26 hours'`
  expect(await deleteExpiredTokens(runtime.sql, 1, 1_000)).toBeGreaterThan(0)
})

proves(
  'auth.principal.keys-away',
  'without the keys of its issuer a token is neither taken nor refused: 503',
  async () => {
    const away = await listed(await startIssuer('https://away.example.test'))
    const again = () => away.token().then((token) => create(token))
    for (const instead of [
      { status: 500 },
      { body: 'no JSON' },
      { body: '{"keys":7}' },
      { body: `"${'x'.repeat(131_072)}"` },
    ]) {
      away.answer(instead)
      const { status, code, headers, detail } = await again()
      expect([status, code, headers.get('retry-after')], detail).toEqual([503, 'ISSUER_UNAVAILABLE', '1'])
    }
    away.answer({ status: 302, location: issuer.jwksUri })
    expect((await again()).detail).toContain('it answered 302')
    away.answer(null)
    expect((await again()).status).toBe(201)
    await away.close()
    const { status, code, detail } = await create(await (await listed(await closed())).token())
    expect([status, code]).toEqual([503, 'ISSUER_UNAVAILABLE'])
    expect(detail).toContain('cannot be reached')
  },
)

async function closed(): Promise<TestIssuer> {
  const made = await startIssuer('https://closed.example.test')
  await made.close()
  return made
}

proves(
  'auth.principal.keys-rotate',
  'keys are read once in ten minutes, and for a new key at most every 30 seconds',
  async () => {
    const rotating = await listed(await startIssuer('https://rotating.example.test'))
    const open = async (header?: Record<string, string>) =>
      (
        await create(
          await rotating.token({ iat: inSeconds(aheadMs / 1_000), exp: inSeconds(aheadMs / 1_000 + 600) }, header),
        )
      ).status
    try {
      const all = await Promise.all([open(), open(), open()])
      expect([all, rotating.reads()]).toEqual([[201, 201, 201], 1])
      await rotating.rotate()
      // The keys were read within the last 30 seconds.
      expect([await open(), rotating.reads()]).toEqual([401, 1])
      aheadMs = 31_000
      expect([await open(), rotating.reads()]).toEqual([201, 2])
      for (let at = 0; at < 5; at++) expect(await open({ kid: 'made-up' })).toBe(401)
      expect(rotating.reads()).toBe(2)
      aheadMs = 31_000 + 599_000
      expect([await open(), rotating.reads()]).toEqual([201, 2])
      aheadMs += 2_000
      expect([await open(), rotating.reads()]).toEqual([201, 3])
    } finally {
      aheadMs = 0
      await rotating.close()
    }
  },
)

proves(
  'auth.principal.tenants',
  'the same issuer proves only for tenants that list it, each with its own audience',
  async () => {
    const other = await runtime.createTenant()
    const by = apiOf(other.key)
    expect(await create(await issuer.token(), {}, by)).toMatchObject({
      status: 401,
      detail: 'its issuer (iss) is not listed for this tenant',
    })
    await listed({ ...issuer, audience: 'other-service' }, other.tenantId)
    expect(await create(await issuer.token(), {}, by)).toMatchObject({ status: 401, code: 'PRINCIPAL_TOKEN_INVALID' })
    const theirs = { aud: 'other-service', jti: 'one id' }
    expect((await create(await issuer.token(theirs), {}, by)).status).toBe(201)
    expect((await create(await issuer.token({ jti: 'one id' }))).status).toBe(201)
    expect((await create(await issuer.token({ aud: ['x', 'other-service'] }), {}, by)).status).toBe(201)
  },
)

proves('auth.principal.keys-address', 'keys are read from public addresses alone', async () => {
  const keys = createIssuerKeys(
    { config: readConfig({}), clock: () => new Date() },
    createMemories().cache('issuer_keys'),
  )
  const { port } = new URL(issuer.jwksUri)
  const before = issuer.reads()
  for (const host of [
    '127.0.0.1',
    'localhost',
    '[::1]',
    '0x7f.1',
    '[::ffff:127.0.0.1]',
    '10.0.0.1',
    '169.254.169.254',
    '0.0.0.0',
  ]) {
    await expect(keys.at(`https://${host}:${port}/jwks.json`), host).rejects.toThrow('its address is not public')
  }
  await expect(keys.at(issuer.jwksUri)).rejects.toThrow('it is not https')
  expect(issuer.reads()).toBe(before)
  const local = { allowLocal: true, timeoutMs: 300, maxBytes: 1_000 }
  await expect(readJson('http://8.8.8.8/', local)).rejects.toThrow('it is not https')
  await expect(readJson('https://169.254.169.254/', local)).rejects.toThrow('its address is not public')
  await expect(readJson('file:///etc/passwd', local)).rejects.toThrow('it is not https')
  const kinds = {
    ...{ '8.8.8.8': 'public', '2606:4700::1111': 'public', '172.31.0.1': 'private', '172.32.0.1': 'public' },
    ...{ '100.64.0.1': 'private', 'fd00::1': 'private', 'fe80::1': 'special', '64:ff9b::7f00:1': 'special' },
    ...{ '2002:7f00:1::': 'special', '224.0.0.1': 'special', '255.255.255.255': 'special', '192.168.1.1': 'private' },
  }
  expect(Object.fromEntries(Object.keys(kinds).map((address) => [address, addressKind(address)]))).toEqual(kinds)
})

test('an issuer that answers nothing is given up after three seconds', async () => {
  const { createServer } = await import('node:net')
  const silent = createServer(() => {})
  await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done))
  const { port } = silent.address() as { port: number }
  const began = performance.now()
  const slow = await startIssuer('https://slow.example.test')
  await listed({ ...slow, jwksUri: `http://127.0.0.1:${port}/` })
  const { status, detail } = await create(await slow.token())
  expect([status, detail]).toEqual([503, 'the keys of the issuer cannot be read: it took too long'])
  expect(performance.now() - began).toBeLessThan(4_500)
  silent.close()
  await slow.close()
}, 15_000)

const READ: Contract = { tool: 'look', side_effect: 'read' }

proves('auth.principal.required', 'a contract or session.yaml may want a proven principal', async () => {
  const plans = [planOf([READ], { principal: 'proven' }), planOf([{ ...READ, principal: 'proven' }])]
  for (const { compiled_hash, compiled_session } of plans) {
    const body = { session_id: `ses-${randomUUID()}`, holder_id: 'h', compiled_hash, compiled_session }
    for (const told of [{}, { principal: 'alice' }, { principal: { id: 'alice', issuer: issuer.name } }]) {
      const { status, problem } = await api.createSession({ body: { ...body, ...told } })
      expect([status, problem.code]).toEqual([409, 'PRINCIPAL_NOT_PROVEN'])
    }
    expect((await create(await issuer.token(), body)).status).toBe(201)
  }
})

proves(
  'auth.principal.reserved',
  'a principal that says of itself that it is proven is 400, and was never believed',
  async () => {
    const { compiled_hash, compiled_session } = plan
    const body = { session_id: `ses-${randomUUID()}`, holder_id: 'h', compiled_hash, compiled_session }
    const { status, problem } = await api.createSession({ body: { ...body, principal: { id: 'alice', proven: true } } })
    expect([status, problem.detail]).toEqual([400, `body.principal: ${RESERVED}`])
    const both = await create(await issuer.token(), { principal: 'alice' })
    expect([both.status, both.detail]).toEqual([
      400,
      'body.principal: send either a principal or a principal_token, which proves it',
    ])
    // As an earlier version may have stored it.
    const session = await openSession(api, { plan: policyPlan, principal: { id: 'alice' } })
    await runtime.sql`
    update sessions set principal = '{"id":"alice","proven":true,"issuer":"x"}', principal_proof = null
    where session_id = ${session.sessionId}`
    parts.sessions.forget(session.sessionId)
    expect((await session.decide([{ name: 'look', args: {} }])).decisions[0]?.reason).toBe('policy_denied')
  },
)
const RESERVED = 'may not have the member `proven`: only a principal token proves a principal'
const policyPlan = planOf([
  {
    ...READ,
    policy: { cedar: 'permit (principal, action, resource) when { principal.proven && principal.issuer like "*" };' },
  },
])

test('policies and conditions see what a token proves', async () => {
  const staff = planOf([
    {
      ...READ,
      policy: {
        cedar: 'permit (principal, action, resource) when { principal.proven && principal.groups.contains("staff") };',
      },
    },
  ])
  const decide = async (given: object) =>
    (await (await openSession(api, { plan: staff, ...given })).decide([{ name: 'look', args: {} }])).decisions[0]
      ?.decision
  expect(await decide({ principal_token: await issuer.token({ groups: ['staff'] }) })).toBe('allow')
  expect(await decide({ principal_token: await issuer.token({ groups: 'staff' }) })).toBe('allow')
  expect(await decide({ principal_token: await issuer.token() })).toBe('block')
  expect(await decide({ principal: { id: 'alice', groups: ['staff'] } })).toBe('block')
  expect(await decide({ principal: 'alice' })).toBe('block')
})

const limited = (session: SessionDefinition = {}) =>
  planOf([{ tool: 'pay', side_effect: 'write' }], {
    ...session,
    shared_limits: [{ name: 'per_person', tool: 'pay', per: 'principal', max_calls: 1, window: '24h' }],
  })
const STICKY: Contract = {
  tool: 'read_mail',
  side_effect: 'read',
  labels: { adds: ['tainted'], sticks_to: 'principal' },
}

proves('auth.principal.apart', 'each alice has her own limit: told, and proven by each issuer', async () => {
  const second = await listed(await startIssuer('https://second.example.test'))
  const alices = {
    told: () => ({ principal: 'alice' }),
    toldAsIssuer: () => ({ principal: { id: 'alice', issuer: issuer.name } }),
    forgedKey: () => ({ principal: JSON.stringify(['proven', issuer.name, 'alice']) }),
    proven: async () => ({ principal_token: await issuer.token() }),
    provenBySecond: async () => ({ principal_token: await second.token() }),
  }
  const pay = async (alice: keyof typeof alices) => {
    const session = await openSession(api, { plan: limited(), ...(await alices[alice]()) })
    return (await session.decide([{ name: 'pay', args: {} }])).decisions[0]?.decision
  }
  const first = [await pay('told'), await pay('forgedKey'), await pay('proven'), await pay('provenBySecond')]
  expect(first).toEqual(['allow', 'allow', 'allow', 'allow'])
  const again = [
    await pay('told'),
    await pay('toldAsIssuer'),
    await pay('forgedKey'),
    await pay('proven'),
    await pay('provenBySecond'),
  ]
  expect(again).toEqual(['block', 'block', 'block', 'block', 'block'])
  await second.close()
})

proves('auth.principal.apart', 'and her own sticky labels', async () => {
  const sticky = planOf([STICKY])
  const labelsOf = async (given: object) => (await openSession(api, { plan: sticky, ...given })).created.session.labels
  const proven = await openSession(api, { plan: sticky, principal_token: await issuer.token({ sub: 'carol' }) })
  await proven.turn([{ name: 'read_mail', args: {} }])
  expect(await labelsOf({ principal: 'carol' })).toEqual([])
  expect(await labelsOf({ principal: { id: 'carol', issuer: issuer.name } })).toEqual([])
  expect(await labelsOf({ principal_token: await issuer.token({ sub: 'carol' }) })).toEqual(['tainted'])
})

proves('auth.principal.shown', 'ledger, session, verify and export say proven or as told', async () => {
  const opened = {
    proven: await openSession(api, { principal_token: await issuer.token() }),
    as_told: await openSession(api, { principal: 'alice' }),
    none: await openSession(api),
  }
  const seen: Record<string, unknown> = {}
  for (const [name, session] of Object.entries(opened)) {
    const { events } = await exportOf(api, session.sessionId)
    const [event] = events
    const printed: string[] = []
    const terminal = { print: (line: string) => printed.push(line), note: () => {} }
    const service = ['--url', url, '--key', runtime.key]
    expect(await verify.run([session.sessionId, ...service], terminal)).toBe(0)
    expect(await sessionCommand.run(['show', session.sessionId, ...service], terminal)).toBe(0)
    seen[name] = [
      (event?.body as { principal_proof?: string } | undefined)?.principal_proof,
      (await session.load()).session.principal_proof,
      ...printed.filter((line) => line.startsWith('principal')).map((line) => line.replace(/ +/, ' ')),
    ]
    expect(JSON.stringify(events)).not.toContain('alice')
  }
  expect(seen).toEqual({
    proven: [
      'proven',
      'proven',
      'principal: proven by a token when the session was opened',
      'principal proven by a token',
    ],
    as_told: ['as_told', 'as_told', 'principal: as its program told it', 'principal as its program told'],
    none: [undefined, null, 'principal -'],
  })
  // A session of an earlier version.
  await runtime.sql`update sessions set principal_proof = null where session_id = ${opened.as_told.sessionId}`
  parts.sessions.forget(opened.as_told.sessionId)
  expect((await opened.as_told.load()).session.principal_proof).toBe('as_told')
})

test('whoever recovers a session goes on for the same principal, without a token', async () => {
  const { sessionId, plan: its, created } = await openSession(api, { principal_token: await issuer.token() })
  const { status, body } = await api.recoverSession({
    params: { session_id: sessionId },
    body: { holder_id: 'holder-2', takeover: true },
  })
  expect([status, body.principal, body.session.principal_proof]).toEqual([200, created.principal, 'proven'])
  expect(attachSession(api, { sessionId, plan: its, created }).sessionId).toBe(sessionId)
})

test('no token and nothing of it stands in the log', async () => {
  const token = await issuer.token({ sub: 'mallory-the-subject' })
  await create(token)
  await create(token)
  const log = runtime.logLines.join('\n')
  expect(log).not.toContain(token.split('.')[2])
  expect(log).not.toContain('mallory-the-subject')
})

async function run(...args: string[]): Promise<string[]> {
  const lines: string[] = []
  const terminal = { print: (line: string) => lines.push(line), note: (line: string) => lines.push(line) }
  expect(await issuerCommand.run([...args, '--database-url', runtime.databaseUrl], terminal)).toBe(0)
  return lines
}

proves('auth.principal.issuers', 'issuers are added, listed and removed at the command line, and audited', async () => {
  const { tenantId, key } = await runtime.createTenant()
  const by = apiOf(key)
  const ours = await startIssuer('https://cli.example.test')
  expect(await run('list', tenantId)).toEqual(['no issuer is listed: no token is taken'])
  await run(
    'add',
    tenantId,
    ours.name,
    '--jwks',
    ours.jwksUri,
    '--audience',
    ours.audience,
    '--allow-local-issuers',
    'on',
  )
  expect((await create(await ours.token(), {}, by)).status).toBe(201)
  expect((await run('list', tenantId)).join()).toMatch(
    /^https:\/\/cli\.example\.test +keys http:.* +for countersign +RS256,ES256 +groups in groups +added /,
  )
  expect(JSON.parse((await run('list', tenantId, '--json')).join())).toMatchObject([
    { issuer: ours.name, groups_claim: 'groups' },
  ])
  await expect(run('add', tenantId, ours.name, '--jwks', 'https://x.test/', '--audience', 'a')).rejects.toThrow(
    'has the issuer',
  )
  await run('remove', tenantId, ours.name)
  expect((await create(await ours.token(), {}, by)).status).toBe(401)
  await expect(run('remove', tenantId, ours.name)).rejects.toThrow('issuer list')
  const rows =
    await runtime.sql`select action, actor from audit_entries where tenant_id = ${tenantId} and subject = ${ours.name} order by at`
  expect(rows.map(({ action, actor }) => [action, actor])).toEqual([
    ['issuer_added', 'operator'],
    ['issuer_removed', 'operator'],
  ])
  for (let at = 0; at < 8; at++)
    await run('add', tenantId, `https://${at}.test`, '--jwks', 'https://x.test/', '--audience', 'a')
  await expect(run('add', tenantId, 'https://9.test', '--jwks', 'https://x.test/', '--audience', 'a')).rejects.toThrow(
    'at most 8 issuers',
  )
  await ours.close()
})

test.each([
  [['--algorithms', 'none'], '--algorithms must name some of'],
  [['--algorithms', 'RS256,HS256'], 'shared secrets (HS256) prove nothing'],
  [['--jwks', 'http://id.example.test/'], 'are read by https'],
  [['--jwks', 'ftp://id.example.test/'], '--jwks must be a URL'],
  [['--audience', 'two words'], '--audience must have'],
])('an issuer with %j is not listed: %s', async (given, message) => {
  const usual = ['--jwks', 'https://id.example.test/', '--audience', 'a']
  await expect(run('add', runtime.tenantId, 'https://new.test', ...usual, ...given)).rejects.toThrow(message)
})

test('the database itself takes no shared secret as an algorithm', async () => {
  for (const algorithm of ['HS256', 'none']) {
    await expect(
      runtime.sql`
        insert into issuers (tenant_id, issuer, jwks_uri, audience, algorithms, groups_claim)
        values (${runtime.tenantId}, 'x', 'x', 'x', ${[algorithm]}::text[], 'groups')`,
    ).rejects.toThrow('issuers_algorithms_check')
  }
})
