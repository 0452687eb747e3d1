import { randomUUID } from 'node:crypto'
import { ROUTES, type Route, type RouteName } from '@countersign/protocol'
import { beforeAll, describe, expect } from 'vitest'
import { handlers } from '../../packages/server/src/http/handlers.js'
import { proves } from '../support/proves.js'
import { type GovernedSession, LOOKUP, openSession, receiptFor } from '../support/runtime/governed-session.js'
import { PERSONS_BODIES, VALID_BODIES } from '../support/runtime/valid-bodies.js'
import { withOwnedRuntime } from '../support/runtime/with-runtime.js'
import { offer, openWorkflow } from '../support/runtime/workflow.js'

/** The stranger has an account and a key; everything that is asked about belongs to the runtime's own tenant. */
const { runtime, owner: stranger, api: strangers } = await withOwnedRuntime()
let owned: GovernedSession
let pendingCallId: string
let preparedRequestId: string
/** A real object of the other tenant for every name of a path. */
let theirs: Readonly<Record<string, string>>
beforeAll(async () => {
  const api = runtime.api()
  owned = await openSession(api)
  const { decisions } = await owned.decide([LOOKUP])
  pendingCallId = decisions[0]!.pending_call_id!
  preparedRequestId = randomUUID()
  await owned.preflight({ prepared_request_id: preparedRequestId, tools: [] })
  const root = await openWorkflow(api)
  const submitted = await api.submitPlan({ body: VALID_BODIES.submitPlan as never })
  const run = await api.createRun({ body: VALID_BODIES.createRun as never })
  theirs = {
    session_id: owned.sessionId,
    workflow_id: root.workflowId,
    handoff_id: (await offer(root)).handoff_id,
    plan_id: submitted.body.plan.plan_id,
    run_id: run.body.run.run_id,
    key_id: runtime.keyId,
    question_id: await theirQuestion(),
    ...(await theirPeople()),
  }
})

/** A question that waits, about a call of the other tenant. */
async function theirQuestion(): Promise<string> {
  const id = 'Q-THEIRS'
  await runtime.sql`
    insert into questions (
      tenant_id, question_id, session_id, proposal_id, call_id, tool_name, rule, argument_hash, card_no, card_hash, card_at,
      have, needed, eligible, self, state, asked_at, expires_at
    ) values (
      ${runtime.tenantId}, ${id}, ${owned.sessionId}, 'p', 'c', 'pay', 'pay#0', 'hash', 1, 'hash', now(),
      0, 1, '[[{"role": "approver", "from": "2026-01-01T00:00:00.000Z"}]]', 'confirm', 'waiting', now(),
      now() + interval '1 day'
    )`
  return id
}

/** A member of the other tenant who is signed in, somebody who is invited, and a webhook. */
async function theirPeople(): Promise<Record<'user_id' | 'sign_in_id' | 'invitation_id' | 'webhook_id', string>> {
  const { tenantId, sql } = runtime
  const ids = { user_id: 'us_theirs', sign_in_id: 'rt_theirs', invitation_id: 'inv_theirs' }
  await sql`
    insert into users (tenant_id, user_id, email, email_key, password_hash)
    values (${tenantId}, ${ids.user_id}, 'theirs@example.test', 'theirs@example.test', 'none')`
  await sql`
    insert into refresh_tokens (tenant_id, refresh_id, user_id, token_hash, created_at, expires_at)
    values (${tenantId}, ${ids.sign_in_id}, ${ids.user_id}, sha256('theirs'), now(), now() + interval '1 day')`
  await sql`
    insert into invitations (tenant_id, invitation_id, email, email_key, role, groups, invited_by, created_at, expires_at)
    values (${tenantId}, ${ids.invitation_id}, 'guest@example.test', 'guest@example.test', 'viewer', '{}', 'operator', now(),
      now() + interval '1 day')`
  const webhook_id = 'whk_theirs'
  await sql`
    insert into webhooks (tenant_id, webhook_id, url, secret) values (${tenantId}, ${webhook_id}, 'https://theirs.example.test/', 'sealed')`
  return { ...ids, webhook_id }
}

const routes = (Object.entries(ROUTES) as [RouteName, Route][]).filter(
  ([name, { auth }]) => auth !== 'none' && name in handlers,
)
/** Every route that names something in its path. New ones are covered by being in the table. */
const namingRoutes = routes.filter(([, { params }]) => params !== undefined)
const lists = routes.filter(([, { method, params }]) => method === 'GET' && params === undefined)

/** What the stranger gets, by key or signed in. */
async function answerTo(name: RouteName, params: Record<string, string>) {
  const body = VALID_BODIES[name] ?? PERSONS_BODIES[name]
  const given = { params, ...(body === undefined ? {} : { body }) } as never
  if (ROUTES[name].auth === 'cookie') {
    const { status, text } = await stranger.call(name, given)
    return { status, text }
  }
  const { status, body: text } = await strangers[name](given)
  return { status, text: JSON.stringify(text) }
}

describe("another tenant's ids in the path", () => {
  for (const [name, route] of namingRoutes) {
    proves('guarantee.tenants-apart', `${name}: 404, equal to an unknown id`, async () => {
      const names = Object.keys(route.params?.shape ?? {})
      const known = VALID_BODIES[name] ?? PERSONS_BODIES[name]
      if (route.body !== undefined) expect(known, `add a valid body for ${name}`).toBeDefined()
      for (const param of names) {
        const real = theirs[param]
        if (real === undefined) throw new Error(`make one of ${param}`)
        const fill = (id: string) => ({ ...Object.fromEntries(names.map((one) => [one, 'unknown-id'])), [param]: id })
        const foreign = await answerTo(name, fill(real))
        expect(foreign).toEqual(await answerTo(name, fill('no-such-thing')))
        expect(foreign.status).toBe(404)
      }
    })
  }

  proves('guarantee.tenants-apart', 'and nothing of it was changed', async () => {
    const view = await owned.load()
    expect(view.session).toMatchObject({ status: 'ACTIVE', labels: [], control_revision: 0, fence: 1 })
    expect(view.pending).toHaveLength(1)
    const { body: workflow } = await runtime.api().loadWorkflow({ params: { workflow_id: theirs.workflow_id! } })
    expect([workflow.status, workflow.handoffs.map(({ state }) => state)]).toEqual(['ACTIVE', ['offered']])
    const kept = await runtime.sql`
      select p.state, k.revoked_at from governance_plans p join api_keys k using (tenant_id)
      where p.plan_id = ${theirs.plan_id!} and k.key_id = ${theirs.key_id!}`
    expect([...kept]).toEqual([{ state: 'draft', revokedAt: null }])
    const asked = await runtime.sql`select state, card_no from questions where question_id = ${theirs.question_id!}`
    expect([...asked]).toEqual([{ state: 'waiting', cardNo: 1 }])
    const hooks = await runtime.sql`select disabled_at, secret from webhooks where webhook_id = ${theirs.webhook_id!}`
    expect([...hooks]).toEqual([{ disabledAt: null, secret: 'sealed' }])
  })
})

describe('lists', () => {
  for (const [name, { auth }] of lists) {
    proves('guarantee.tenants-apart', `${name} by ${auth} shows nothing of another tenant`, async () => {
      const query = name === 'lookupPlan' ? { agent: 'support', environment: 'staging' } : {}
      const answer =
        auth === 'cookie'
          ? (await stranger.call(name, { query })).text
          : JSON.stringify((await strangers[name]({ query })).body)
      expect([...Object.values(theirs), runtime.tenantId].filter((id) => answer.includes(id))).toEqual([])
    })
  }
})

describe("another tenant's ids in the body", () => {
  proves('guarantee.tenants-apart', 'a prepared request', async () => {
    const mine = await openSession(strangers)
    const [foreign, unknown] = [await mine.propose(preparedRequestId, []), await mine.propose('no-such-request', [])]
    expect([foreign.status, foreign.problem]).toEqual([404, unknown.problem])
  })

  proves('guarantee.tenants-apart', 'a pending call', async () => {
    const mine = await openSession(strangers)
    const { decisions } = await mine.decide([LOOKUP])
    const receipt = (id: string) => receiptFor({ ...decisions[0]!, pending_call_id: id })
    const [foreign, unknown] = [
      await mine.receipts([receipt(pendingCallId)]),
      await mine.receipts([receipt('no-such-call')]),
    ]
    expect([foreign.status, foreign.problem]).toEqual([404, unknown.problem])
  })

  proves(
    'guarantee.tenants-apart',
    'a session id that is used there is free here, and the two never meet',
    async () => {
      const mine = await openSession(strangers, { session_id: owned.sessionId, labels: ['mine'] })
      await mine.turn([LOOKUP])
      expect((await owned.load()).session).toMatchObject({ labels: [], state_version: 0 })
      expect((await mine.load()).session).toMatchObject({ labels: ['mine'], state_version: 1 })
    },
  )
})
