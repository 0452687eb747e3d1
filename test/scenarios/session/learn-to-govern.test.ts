import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { observe, ReplayContractError, type ReplayOptions } from '../../../packages/sdk/src/index.js'
import { learnCaptures } from '../../../packages/server/src/captures/learn-captures.js'
import { proves } from '../../support/proves.js'
import { callNames, calls, results, says, toolDefinition } from '../../support/runtime/agent.js'
import { createMailbox } from '../../support/runtime/mailbox.js'
import { Person } from '../../support/runtime/person.js'
import { withAgentAndRuntime } from '../../support/runtime/with-runtime.js'

/** From an agent that nobody changed to the same agent under a plan that was learned from it, in three environments. */
const mailbox = createMailbox()
let owner: Person
let apiKey: string
let endpoint: string
const { agent, runtime } = await withAgentAndRuntime({ mailer: mailbox })
beforeAll(async () => {
  endpoint = await runtime.instances[0].listen()
  owner = new Person(runtime.fetch, { origin: endpoint })
  const { body } = await owner.signup()
  apiKey = body.api_key
  await runtime.sql`update tenants set quota = 'scale' where tenant_id = ${body.user.tenant_id}`
  await runtime.instances[0].parts.accounts.mail.idle()
  await owner.call('verifyEmail', { body: { token: mailbox.tokenFor(owner.email) } })
  for (const name of ['desk', 'asking-desk']) await observeConversations(name)
})

const TOOLS = ['find_person', 'send_mail']
const NAMES = ['Ann', 'Bob', 'Cleo', 'Dan', 'Eve', 'Flo', 'Gus', 'Hal', 'Ida', 'Joe']
const mailOf = (name: string) => `${name.toLowerCase()}@example.com`
const wish = (name: string) => ({ role: 'user' as const, content: `Write to ${name} that lunch is ready` })

/** The program as it always was: it asks the model, runs the tools, and sends the results back. */
async function observeConversations(agentName: string): Promise<void> {
  const client = agent.openai()
  const handle = observe(client, { apiKey, agent: agentName, endpoint })
  const ask = (messages: never[]) =>
    client.chat.completions.create({ model: 'gpt-4o', messages, tools: TOOLS.map(toolDefinition) })
  for (const name of NAMES) {
    agent.provider.enqueue(
      calls(['find_person', { name }, `find-${name}`]),
      calls(['send_mail', { to: mailOf(name), body: 'Lunch is ready, come over please.' }, `send-${name}`]),
      says('done'),
    )
    const messages: unknown[] = [wish(name)]
    const found = await ask(messages as never[])
    messages.push(found.choices[0]?.message, {
      role: 'tool',
      tool_call_id: `find-${name}`,
      content: JSON.stringify([{ name, email: mailOf(name) }]),
    })
    const sent = await ask(messages as never[])
    messages.push(sent.choices[0]?.message, { role: 'tool', tool_call_id: `send-${name}`, content: 'sent' })
    await ask(messages as never[])
  }
  await handle.restore()
  while ((await learnCaptures(runtime.instances[0].parts)) > 0) {
    // Until nothing is left.
  }
}

async function approve(environment: 'development' | 'staging' | 'production'): Promise<void> {
  const { body, status, code } = await owner.call('draftPlan', { body: { agent: 'desk', environment } })
  expect([status, body.blockers, code]).toEqual([201, [], undefined])
  // The owner is not there to be asked in this test: what is not allowed is blocked, and unusual calls are not looked for.
  const files = body.files.map(({ file, text }) => ({
    file,
    text: text
      .replaceAll(/(otherwise|invented|dictated|quoted): ask/g, '$1: block')
      .replace(/^surprise:\n(?: .*\n)*/m, ''),
  }))
  const edited = await owner.call('editPlan', { params: { plan_id: body.plan.plan_id }, body: { files } })
  expect(edited.status).toBe(200)
  const approved = await owner.call('approvePlan', {
    params: { plan_id: body.plan.plan_id },
    body: { why: 'as observed' },
  })
  expect(approved.body.plan.state).toBe('approved')
}

const start = (environment: 'development' | 'staging' | 'production', options: ReplayOptions = {}) =>
  agent.start({
    apiKey,
    agent: 'desk',
    environment,
    fetch: runtime.fetch,
    tools: { find_person: ({ name }) => [{ name, email: mailOf(String(name)) }], send_mail: () => 'sent' },
    ...options,
  })

/** Looks Kim up, then writes to whom the model chooses. */
async function converse({ session, ask }: ReturnType<typeof start>, to: string) {
  agent.provider.enqueue(
    calls(['find_person', { name: 'Kim' }, 'f']),
    calls(['send_mail', { to, body: 'Lunch is ready, come over please.' }, 's']),
  )
  const found = await ask(TOOLS, [wish('Kim')])
  const result = await session.tools?.find_person?.({ name: 'Kim' })
  const messages = [wish('Kim'), ...results(found, JSON.stringify(result)).slice(1)]
  return ask(TOOLS, messages as never)
}

proves('capture.redacted.default', async () => {
  const stored = await runtime.sql<{ captureLevel: string; item: { response: { tool_calls: unknown[] } } }[]>`
    select capture_level, item from captures where agent = 'desk'`
  expect(stored.length).toBeGreaterThanOrEqual(2 * NAMES.length)
  expect(new Set(stored.map(({ captureLevel }) => captureLevel))).toEqual(new Set(['redacted']))
  const text = JSON.stringify(stored)
  expect(text).toContain('ann@example.com')
  for (const content of ['that lunch is ready', '"done"', '"sent"']) expect(text).not.toContain(content)
})

describe('a plan that was learned from an agent governs it', () => {
  for (const environment of ['staging', 'production'] as const) {
    proves(
      ['plan.zero-config', 'option.environment'],
      `in ${environment}: its own calls pass and an unseen bad one is blocked`,
      async () => {
        await approve(environment)
        const found = await runtime.api(apiKey).lookupPlan({ query: { agent: 'desk', environment } })
        const good = start(environment)
        expect(callNames(await converse(good, mailOf('Kim')))).toEqual(['send_mail'])
        expect(good.session.getHealth()).toMatchObject({ protectionLevel: 'govern', governanceAttachment: 'attached' })
        const bad = start(environment)
        await expect(converse(bad, 'mallory@evil.example')).rejects.toThrow(ReplayContractError)
        const { body } = await runtime.api(apiKey).loadSession({ params: { session_id: bad.session.sessionId } })
        expect(body.session).toMatchObject({
          compiled_hash: found.body.compiled_hash,
          plan_source: 'approved',
          environment,
        })
        // The plan is that of this agent and of no other.
        const other = start(environment, { agent: 'another-desk' })
        agent.provider.enqueue(calls(['send_mail', {}]))
        const asked = other.ask(TOOLS)
        if (environment === 'production') {
          await expect(asked).rejects.toThrow('no approved plan')
          agent.provider.take()
        } else expect(callNames(await asked)).toEqual(['send_mail'])
      },
    )
  }

  test('in development: nothing is blocked, and what would have been is reported', async () => {
    await approve('development')
    const bad = start('development')
    expect(callNames(await converse(bad, 'mallory@evil.example'))).toEqual(['send_mail'])
    expect(bad.session.getHealth()).toMatchObject({ protectionLevel: 'monitor', governanceAttachment: 'attached' })
    expect(bad.session.getLastShadowDelta()?.would_have_blocked).toMatchObject([
      { tool_name: 'send_mail', reason: 'argument_value_mismatch' },
    ])
  })
})

describe('a plan as it was learned asks a person about what it does not know', () => {
  type Approval = Parameters<NonNullable<ReplayOptions['onCheckpoint']>>[0]
  const asked: Approval[] = []
  const sent: unknown[] = []
  const deskThatAsks = (decision: 'approve' | 'deny') =>
    start('production', {
      agent: 'asking-desk',
      onCheckpoint: (request) => {
        asked.push(request)
        const { checkpoint_id } = request
        return { checkpoint_id, decision, decided_by: 'owner', decided_at: new Date().toISOString() }
      },
      tools: {
        find_person: ({ name }) => [{ name, email: mailOf(String(name)) }],
        send_mail: ({ to }) => sent.push(to),
      },
    })

  beforeAll(async () => {
    const { body } = await owner.call('draftPlan', { body: { agent: 'asking-desk', environment: 'production' } })
    expect(body.files.map(({ text }) => text).join()).toContain('otherwise: ask')
    const decided = { params: { plan_id: body.plan.plan_id }, body: { why: 'as learned' } }
    expect((await owner.call('approvePlan', decided)).body.plan.state).toBe('approved')
  })
  beforeEach(() => {
    asked.length = 0
    sent.length = 0
  })

  test('what it knows passes unasked', async () => {
    const { session, ...desk } = deskThatAsks('deny')
    expect(callNames(await converse({ session, ...desk }, mailOf('Kim')))).toEqual(['send_mail'])
    expect(session.getHealth()).toMatchObject({ protectionLevel: 'govern', governanceAttachment: 'attached' })
    expect(asked).toEqual([])
  })

  test('an address from nowhere is asked about; approved, the mail goes out and the step commits', async () => {
    const { session, ...desk } = deskThatAsks('approve')
    expect(callNames(await converse({ session, ...desk }, 'new@customer.example'))).toEqual(['send_mail'])
    expect(asked).toMatchObject([
      { tool_name: 'send_mail', session_id: session.getState().sessionId, arguments: { to: 'new@customer.example' } },
    ])
    expect(asked[0]?.reason).toContain('it was seen nowhere before')
    const before = session.getState().stateVersion
    await session.tools?.send_mail?.({ to: 'new@customer.example', body: 'Lunch is ready, come over please.' })
    await session.flush()
    expect(sent).toEqual(['new@customer.example'])
    expect(session.getState().stateVersion).toBe(before + 1)
  })

  test('refused, it is blocked and nothing is sent', async () => {
    const { session, ...desk } = deskThatAsks('deny')
    const refused = converse({ session, ...desk }, 'mallory@evil.example')
    await expect(refused).rejects.toMatchObject({ decision: { blocked: [{ reason: 'checkpoint_denied' }] } })
    expect(asked.map(({ tool_name }) => tool_name)).toEqual(['send_mail'])
    const args = { to: 'mallory@evil.example', body: 'Lunch is ready, come over please.' }
    await expect(session.tools?.send_mail?.(args)).rejects.toThrow(ReplayContractError)
    expect(sent).toEqual([])
  })

  test('a program that cannot ask is not attached, and production stays closed', async () => {
    const mute = start('production', { agent: 'asking-desk' })
    await expect(converse(mute, mailOf('Kim'))).rejects.toThrow(ReplayContractError)
    expect(mute.session.getHealth().governanceAttachment).toBe('attachment_failed')
  })
})
