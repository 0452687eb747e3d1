import { randomBytes } from 'node:crypto'
import type { WebhookMessage } from '@countersign/protocol'
import { afterAll, expect } from 'vitest'
import { createSealedSecrets } from '../../../packages/server/src/base/crypto/sealed-secrets.js'
import { sendDueNotice } from '../../../packages/server/src/process/jobs/send-notices.js'
import { renewSecrets } from '../../../packages/server/src/webhooks/renew-secrets.js'
import { sendDueWebhooks } from '../../../packages/server/src/webhooks/send-webhooks.js'
import { ASKING_PLAN, pay, withAsking } from '../../support/model/asking-people.js'
import { startReceiver, verified, type WebhookReceiver } from '../../support/people/webhook-receiver.js'
import { proves } from '../../support/proves.js'
import { openSession } from '../../support/runtime/governed-session.js'
import type { Person } from '../../support/runtime/person.js'
import { withOwnedRuntime } from '../../support/runtime/with-runtime.js'

const asking = await withAsking({ COUNTERSIGN_ALLOW_LOCAL_WEBHOOKS: 'on' })
const { runtime, parts, owner, finance, approver, open, asked, answer, load, mailbox } = asking
const { sql } = runtime
const receivers: WebhookReceiver[] = []
afterAll(() => Promise.all(receivers.map((one) => one.close())))

const params = (webhook_id: string) => ({ params: { webhook_id } })

/** A receiver, and a webhook of the tenant that leads to it. */
async function withWebhook(person: Person = owner) {
  const receiver = await startReceiver()
  receivers.push(receiver)
  const { status, body, text } = await person.call('createWebhook', { body: { url: receiver.url } })
  if (status !== 201) throw new Error(text)
  const { webhook, secret } = body
  const id: string = webhook.webhook_id
  return {
    receiver,
    id,
    secret: secret as string,
    read: () => receiver.received.map((one) => verified(one, secret)),
    deliveries: async () => (await person.call('listWebhookDeliveries', params(id))).body.deliveries,
    view: async () => {
      const found = (await person.call('listWebhooks')).body.webhooks.find(({ webhook_id }) => webhook_id === id)
      if (found === undefined) throw new Error('the webhook is gone')
      return found
    },
    remove: () => person.call('removeWebhook', params(id)),
  }
}
const sendAll = async (with_ = parts) => {
  while (await sendDueWebhooks(with_));
}
const dueNow = (id: string) => sql`
  update deliveries set next_at = clock_timestamp() where recipient = ${id} and next_at is not null`
const noticeDue = async (questionId: string, kind: string, with_ = parts) => {
  await sql`
    update deliveries set next_at = clock_timestamp()
    where question_id = ${questionId} and kind = ${kind} and next_at is not null`
  while (await sendDueNotice(with_));
}
const typesOf = (messages: readonly WebhookMessage[]) => messages.map(({ type }) => type)

proves('webhook.signed', async () => {
  const hook = await withWebhook()
  const session = await open({ agent: 'buyer' })
  const { id } = await asked([{ name: 'pay', args: { amount: 300, iban: 'DE-SECRET' } }], session)
  await answer(finance, id, 'deny', { note: 'not DE-SECRET either' })
  await sendAll()
  const [first] = hook.receiver.received
  if (first === undefined) throw new Error('nothing has arrived')
  expect(hook.read()[0]).toEqual({
    type: 'question.asked',
    timestamp: expect.stringMatching(/^20.*Z$/),
    data: {
      question_id: id,
      session_id: session.sessionId,
      agent: 'buyer',
      environment: null,
      tool_name: 'pay',
      rule: 'pay#0',
      reason: 'large payment',
      url: `${parts.publicUrl()}/questions/${id}`,
      state: 'waiting',
      card_no: 1,
      have: 0,
      needed: 1,
      expires_at: (await load(owner, id)).question.expires_at,
    },
  })
  expect(first.headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'Countersign' })
  // Not on the wire, nor in what is stored for it.
  const all = JSON.stringify([hook.receiver.received, await sql`select * from deliveries where recipient = ${hook.id}`])
  for (const word of ['DE-SECRET', 'not DE', finance.email]) expect(all).not.toContain(word)
  expect(() => verified({ ...first, body: first.body.replace('waiting', 'approved') }, hook.secret)).toThrow()
  expect(() => verified({ ...first, headers: { ...first.headers, 'webhook-id': 'msg_other' } }, hook.secret)).toThrow()
  expect(() => verified(first, `whsec_${randomBytes(32).toString('base64')}`)).toThrow()
  await hook.remove()
})

proves('webhook.signed', 'what a learned rule says stays here, whatever rule is the first', async () => {
  const hook = await withWebhook()
  const { id } = await asked()
  await sql`
    update questions set card = jsonb_set(card::jsonb, '{rules}', card::jsonb -> 'rules' ||
      '[{"rule": "pay#learned", "reason": "the iban DE-SECRET is new"}]')::json where question_id = ${id}`
  await sendAll()
  expect(hook.read()[0]?.data).toMatchObject({ reason: 'large payment' })
  await noticeDue(id, 'asked')
  const mail = mailbox.mails.find(({ message }) => message.text.includes(id))
  expect(mail?.message.text).toContain('large payment. It')
  await hook.remove()
})

proves('webhook.events', async () => {
  const hook = await withWebhook()
  const others = await withWebhook((await asking.team()).owner)
  const { id, session } = await asked([{ name: 'mail', args: { to: 'a' } }])
  await answer(approver, id)
  const again = await asked(pay(301), session)
  await noticeDue(again.id, 'reminder-0')
  await owner.call('askAgain', { params: { question_id: again.id } })
  const third = await asked([{ name: 'mail', args: { to: 'x' } }], session)
  await session.api.killSession({ params: { session_id: session.sessionId }, body: {} })
  await sendAll()
  const seen = hook.read().map(({ type, data }) => {
    const { question_id, state, have, decision, cause, card_no } = data as Record<string, unknown>
    return [type, question_id, { state, have, decision, cause, card_no }]
  })
  const told = (of: string) => seen.filter(([, one]) => one === of)
  const plain = { have: 0, card_no: 1 }
  expect(told(id)).toEqual([
    ['question.asked', id, { ...plain, state: 'waiting' }],
    ['question.answered', id, { ...plain, state: 'approved', have: 1, decision: 'approve' }],
    ['question.ended', id, { ...plain, state: 'withdrawn', have: 1, cause: 'killed' }],
  ])
  expect(told(again.id)).toEqual([
    ['question.asked', again.id, { ...plain, state: 'waiting' }],
    ['question.reminded', again.id, { ...plain, state: 'waiting' }],
    ['question.asked', again.id, { ...plain, state: 'waiting', card_no: 2 }],
    ['question.ended', again.id, { ...plain, state: 'withdrawn', card_no: 2, cause: 'killed' }],
  ])
  expect(told(third.id).map(([type]) => type)).toEqual(['question.asked', 'question.ended'])
  expect(others.receiver.received).toEqual([])
  expect((await load(owner, id)).deliveries).toContainEqual(
    expect.objectContaining({ kind: 'answered', channel: 'webhook', to: new URL(hook.receiver.url).host, error: null }),
  )
  await hook.remove()
})

proves('webhook.events', 'that no mail could be sent, and only then', async () => {
  const hook = await withWebhook()
  const [told, untold] = [await asked(pay(302)), await asked(pay(303))]
  await noticeDue(told.id, 'asked')
  for (const { id } of [told, untold]) await noticeDue(id, 'undelivered')
  await sendAll()
  const of = (id: string) => typesOf(hook.read().filter(({ data }) => 'question_id' in data && data.question_id === id))
  expect(of(told.id)).toEqual(['question.asked'])
  expect(of(untold.id)).toEqual(['question.asked', 'question.undelivered'])
  expect((await load(owner, untold.id)).question.delivered).toBe(false)
  await hook.remove()
})

proves('webhook.once-known', async () => {
  const hook = await withWebhook()
  await asked()
  // Taken, and the answer is lost.
  hook.receiver.answer((request) => request.socket.destroy())
  await sendAll()
  expect(await hook.deliveries()).toMatchObject([{ attempts: 1, sent_at: null, status: null }])
  // Answered, and the process is lost before it has noted that.
  hook.receiver.answer(200)
  const beforeNoting = {
    ...parts,
    database: { ...parts.database, transaction: onlyTaking(parts.database.transaction) },
  }
  await dueNow(hook.id)
  await expect(sendDueWebhooks(beforeNoting)).rejects.toThrow('the process is gone')
  await sendAll()
  expect(hook.receiver.received).toHaveLength(2)
  await dueNow(hook.id)
  await sendAll()
  expect(hook.receiver.received).toHaveLength(3)
  const ids = new Set(hook.receiver.received.map(({ id }) => id))
  expect(ids.size).toBe(1)
  expect(await hook.deliveries()).toMatchObject([
    { message_id: [...ids][0], attempts: 3, status: 200, error: null, next_try_at: null },
  ])
  expect(new Set(hook.receiver.received.map(({ body }) => body)).size).toBe(1)
  // Two instances at once send one each.
  await asked(pay(305))
  await Promise.all(runtime.instances.map((one) => sendDueWebhooks(one.parts)))
  expect(hook.receiver.received).toHaveLength(4)
  await hook.remove()
})

/** The first transaction of a turn takes a message; the one after it would note what became of it. */
function onlyTaking(real: typeof parts.database.transaction): typeof real {
  let count = 0
  return (share, fn, options) => {
    count += 1
    return count === 1 ? real(share, fn, options) : Promise.reject(new Error('the process is gone'))
  }
}

proves('webhook.retried', async () => {
  const [broken, healthy] = [await withWebhook(), await withWebhook()]
  broken.receiver.answer(500)
  const { id, session } = await asked()
  await asked(pay(306), session)
  await sendAll()
  // One was tried; the other waits for at least a minute.
  expect(broken.receiver.received).toHaveLength(1)
  expect(healthy.receiver.received).toHaveLength(2)
  const waits = async () => {
    const rows = await sql<{ seconds: number }[]>`
      select extract(epoch from next_at - clock_timestamp())::float8 as seconds from deliveries
      where recipient = ${broken.id} and question_id = ${id}`
    return rows[0]?.seconds ?? Number.NaN
  }
  await sql`delete from deliveries where recipient = ${broken.id} and question_id <> ${id}`
  await sql`update deliveries set attempts = 0 where recipient = ${broken.id}`
  broken.receiver.received.length = 0
  for (let tried = 1; tried <= 9; tried++) {
    await dueNow(broken.id)
    await sendAll()
    expect(broken.receiver.received).toHaveLength(tried)
    const seconds = 60 * 2 ** (tried - 1)
    expect(await waits()).toBeGreaterThan(seconds - 20)
    expect(await waits()).toBeLessThanOrEqual(seconds)
  }
  expect((await broken.view()).failing_since).not.toBeNull()
  await dueNow(broken.id)
  await sendAll()
  await dueNow(broken.id)
  await sendAll()
  expect(broken.receiver.received).toHaveLength(10)
  expect(await broken.deliveries()).toMatchObject([
    { attempts: 10, status: 500, error: 'it answered 500', sent_at: null, next_try_at: null },
  ])
  // The next one arrives, and it fails no more.
  broken.receiver.answer(204)
  await asked(pay(307), session)
  await sendAll()
  expect(await broken.view()).toMatchObject({ failing_since: null, disabled_at: null })
  await broken.remove()
  await healthy.remove()
})

proves('webhook.disabled', async () => {
  const hook = await withWebhook()
  hook.receiver.answer(503)
  const { session } = await asked(pay(308))
  await asked(pay(309), session)
  const mails = () => mailbox.mails.filter(({ message }) => message.subject.startsWith('A webhook was disabled'))
  const before = mails().length
  await sql`
    update webhooks set failing_since = clock_timestamp() - interval '71 hours' where webhook_id = ${hook.id}`
  await sendAll()
  expect((await hook.view()).disabled_at).toBeNull()
  await sql`
    update webhooks set failing_since = clock_timestamp() - interval '73 hours' where webhook_id = ${hook.id}`
  await dueNow(hook.id)
  await sendAll()
  expect((await hook.view()).disabled_at).not.toBeNull()
  const tried = hook.receiver.received.length
  await parts.accounts.mail.idle()
  const [mail, ...more] = mails().slice(before)
  expect([mail?.to, more]).toEqual([owner.email, []])
  expect(mail?.message.text).toContain(new URL(hook.receiver.url).host)
  expect(mail?.message.text).toContain('/webhooks')
  const { body } = await owner.call('listAudit', { query: { subject: hook.id, action: 'webhook_disabled' } })
  expect(body.items).toMatchObject([{ actor: 'system', detail: expect.stringContaining('for 3 days') }])
  // What waited, and what happens now, is not sent.
  await dueNow(hook.id)
  await asked(pay(310), session)
  await sendAll()
  expect(hook.receiver.received).toHaveLength(tried)
  expect((await hook.deliveries()).every((one: { next_try_at: unknown }) => one.next_try_at === null)).toBe(true)
  hook.receiver.answer(200)
  const enabled = await owner.call('changeWebhook', { ...params(hook.id), body: { disabled: false } })
  expect(enabled.body).toMatchObject({ disabled_at: null, failing_since: null })
  await asked(pay(311), session)
  await sendAll()
  expect(hook.receiver.received).toHaveLength(tried + 1)
  hook.receiver.answer(410)
  await asked(pay(312), session)
  await sendAll()
  expect((await hook.view()).disabled_at).not.toBeNull()
  await hook.remove()
})

proves('webhook.secret', async () => {
  const hook = await withWebhook()
  expect(hook.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  const stored = async () => (await sql`select * from webhooks where webhook_id = ${hook.id}`)[0] ?? {}
  expect(JSON.stringify(await stored())).not.toContain(hook.secret.slice(6))
  expect(JSON.stringify(await owner.call('listWebhooks'))).not.toContain('whsec_')
  const rolled = await owner.call('rollWebhookSecret', params(hook.id))
  const fresh: string = rolled.body.secret
  expect(fresh).not.toBe(hook.secret)
  const hours = (Date.parse(rolled.body.webhook.old_secret_until ?? '') - Date.now()) / 3_600_000
  expect(hours).toBeGreaterThan(23.9)
  expect(hours).toBeLessThanOrEqual(24)
  const { session } = await asked(pay(320))
  await sendAll()
  const both = hook.receiver.received[0]
  if (both === undefined) throw new Error('nothing has arrived')
  for (const secret of [hook.secret, fresh]) expect(verified(both, secret).type).toBe('question.asked')
  await sql`update webhooks set old_until = clock_timestamp() - interval '1 second' where webhook_id = ${hook.id}`
  await asked(pay(321), session)
  await sendAll()
  const after = hook.receiver.received[1]
  if (after === undefined) throw new Error('nothing has arrived')
  expect(verified(after, fresh).type).toBe('question.asked')
  expect(() => verified(after, hook.secret)).toThrow()

  // Encrypted under another signing key, which goes on to be read until it is renewed.
  const keys = ['n'.repeat(32), 'o'.repeat(32)]
  const random = (bytes: number) => randomBytes(bytes)
  const [renewing, former, present] = [keys, keys.slice(1), keys.slice(0, 1)].map((some) =>
    createSealedSecrets(some, random),
  ) as [typeof parts.accounts.sealedSecrets, typeof parts.accounts.sealedSecrets, typeof parts.accounts.sealedSecrets]
  const place = `${(await stored()).tenantId}/webhooks/${hook.id}`
  const sealed = former.seal(fresh, place)
  expect(former.open(sealed, place)).toBe(fresh)
  expect(former.open(sealed, place.replace('webhooks', 'other'))).toBeNull()
  expect(former.open(`${sealed.slice(0, -2)}AA`, place)).toBeNull()
  await sql`update webhooks set secret = ${sealed}, old_secret = null where webhook_id = ${hook.id}`
  const renew = () =>
    parts.database.transaction('jobs', (tx) =>
      renewSecrets(tx, { accounts: { ...parts.accounts, sealedSecrets: renewing } }),
    )
  expect(await renew()).toBe(false)
  expect(present.open((await stored()).secret, place)).toBe(fresh)
  // More than one round.
  const { tenantId } = await stored()
  for (let at = 0; at < 51; at++) {
    const old = former.seal(fresh, `${tenantId}/webhooks/many-${at}`)
    await sql`
      insert into webhooks (tenant_id, webhook_id, url, secret) values (${tenantId}, ${`many-${at}`}, 'https://a.example', ${old})`
  }
  expect([await renew(), await renew()]).toEqual([true, false])
  const many = await sql<{ id: string; secret: string }[]>`
    delete from webhooks where webhook_id like 'many-%' returning webhook_id as id, secret`
  expect(new Set(many.map(({ id, secret }) => present.open(secret, `${tenantId}/webhooks/${id}`)))).toEqual(
    new Set([fresh]),
  )
  // The service has neither key.
  await asked(pay(322), session)
  await sendAll()
  expect((await hook.deliveries())[0]).toMatchObject({ status: null, error: 'its secret cannot be read: roll it' })
  await hook.remove()
})

proves('webhook.owners', async () => {
  const { owner: own, finance: member, api } = await asking.team()
  const hook = await withWebhook(own)
  for (const route of ['listWebhooks', 'listWebhookDeliveries', 'testWebhook'] as const)
    expect((await member.call(route, params(hook.id))).status).toBe(403)
  expect((await owner.call('listWebhookDeliveries', params(hook.id))).status).toBe(404)
  expect((await owner.call('removeWebhook', params(hook.id))).status).toBe(404)
  expect((await own.call('testWebhook', params(hook.id))).body).toEqual({ ok: true, status: 200, error: null })
  expect(hook.read()).toMatchObject([{ type: 'webhook.test', data: { webhook_id: hook.id } }])
  hook.receiver.answer(404)
  expect((await own.call('testWebhook', params(hook.id))).body).toEqual({
    ok: false,
    status: 404,
    error: 'it answered 404',
  })
  expect(await hook.view()).toMatchObject({ failing_since: null })
  hook.receiver.answer(200)
  const { decisions } = await (await openSession(api, { plan: ASKING_PLAN })).decide(pay(300))
  const question_id = decisions[0]?.question?.question_id
  await sendAll()
  expect(await hook.deliveries()).toMatchObject([
    { event: 'question.asked', question_id, attempts: 1, status: 200, error: null },
  ])
  const elsewhere = await startReceiver()
  receivers.push(elsewhere)
  await own.call('changeWebhook', { ...params(hook.id), body: { url: elsewhere.url } })
  await own.call('changeWebhook', { ...params(hook.id), body: { disabled: true } })
  await own.call('changeWebhook', { ...params(hook.id), body: { disabled: false } })
  await own.call('rollWebhookSecret', params(hook.id))
  const created = await Promise.all(
    Array.from({ length: 10 }, () => own.call('createWebhook', { body: { url: elsewhere.url } })),
  )
  expect(created.filter(({ status }) => status === 201)).toHaveLength(7)
  expect(created.find(({ status }) => status !== 201)?.body).toMatchObject({ code: 'WEBHOOK_LIMIT' })
  expect((await own.call('removeWebhook', params(hook.id))).status).toBe(200)
  expect((await own.call('removeWebhook', params(hook.id))).status).toBe(404)
  const { body } = await own.call('listAudit', { query: { subject: hook.id } })
  expect(body.items.map(({ action }: { action: string }) => action).reverse()).toEqual([
    'webhook_added',
    'webhook_changed',
    'webhook_disabled',
    'webhook_enabled',
    'webhook_secret_rolled',
    'webhook_removed',
  ])
  expect(JSON.stringify(body)).not.toContain('/in')
})

proves('webhook.addresses', 'what can be seen of an address', async () => {
  const { owner: guarded } = await withOwnedRuntime()
  const add = async (person: Person, url: string) => {
    const { status, text } = await person.call('createWebhook', { body: { url } })
    return status === 201 ? 'added' : JSON.parse(text).detail
  }
  for (const host of ['127.0.0.1', '[::1]', '10.0.0.1', '0x7f.1', '169.254.169.254'])
    expect(await add(guarded, `https://${host}/`), host).toMatch(/expected a public address/)
  expect(await add(guarded, 'http://example.test/')).toMatch(/begins with https/)
  expect(await add(guarded, 'ftp://example.test/')).toMatch(/begins with https/)
  expect(await add(guarded, 'https://user:word@example.test/')).toMatch(/without user and password/)
  expect(await add(guarded, 'https://hooks.example.test/in?token=1')).toBe('added')
  // Even where the operator allows private addresses.
  expect(await add(owner, 'http://8.8.8.8/')).toMatch(/begins with https/)
  expect(await add(owner, 'https://169.254.169.254/')).toMatch(/expected a public address/)
})

proves('webhook.retried', 'many webhooks of one tenant do not come before those of another', async () => {
  const team = await asking.team()
  const good = await withWebhook(team.owner)
  const session = await openSession(team.api, { plan: ASKING_PLAN })
  const hooks = await Promise.all(Array.from({ length: 8 }, () => withWebhook()))
  await asked(pay(331))
  await session.decide(pay(300))
  await sendDueWebhooks(parts)
  expect(good.receiver.received).toHaveLength(1)
  for (const hook of [...hooks, good]) await hook.remove()
})
