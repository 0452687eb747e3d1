import { describe, expect } from 'vitest'
import { sendDueNotice } from '../../../packages/server/src/process/jobs/send-notices.js'
import { countUndelivered } from '../../../packages/server/src/store/questions/deliveries.js'
import { ASKING_PLAN, pay, withAsking } from '../../support/model/asking-people.js'
import { proves } from '../../support/proves.js'
import { openSession } from '../../support/runtime/governed-session.js'
import type { Person } from '../../support/runtime/person.js'

const { runtime, parts, team, owner, finance, approver, viewer, asked, load, answer, mailbox } = await withAsking()
const plan = ASKING_PLAN

proves('question.stats', 'each rule and each person: how often, what they say, how fast', async () => {
  const other = await team()
  const session = await openSession(other.api, { plan, agent: 'buyer' })
  const ids: string[] = []
  for (const amount of [300, 301, 302]) {
    const { decisions } = await session.decide(pay(amount))
    ids.push(decisions[0]?.question?.question_id ?? '')
  }
  await answer(other.finance, ids[0] ?? '')
  await answer(other.finance, ids[1] ?? '', 'deny')
  const { body } = await other.viewer.call('questionStats')
  expect(body).toMatchObject({
    waiting: 1,
    undelivered: 0,
    rules: [
      {
        rule: 'pay#0',
        agent: 'buyer',
        sessions: 1,
        asked: 3,
        approved: 1,
        denied: 1,
        expired: 0,
        withdrawn: 0,
        approved_share: 0.5,
        tires: false,
      },
    ],
    people: [{ user_id: other.finance.userId, name: other.finance.email, answers: 2, approved_share: 0.5 }],
  })
  await runtime.sql`
    insert into questions select tenant_id, 'Q-' || n, session_id, proposal_id, call_id, tool_name, agent, environment, rule,
      reason, argument_hash, edited_hash, card_no, card_hash, card_at, definition_hash, approved_hash, card, flow,
      requester, principal_proof, have, needed, eligible, self, 'used', cause, asked_at, expires_at, expires_at,
      decided_at, pending_call_id
    from questions, generate_series(1, 60) as n where question_id = ${ids[0] ?? ''}`
  expect((await other.viewer.call('questionStats')).body.rules).toMatchObject([{ asked: 63, tires: true }])
})

describe('notices', () => {
  const dueNow = () => runtime.sql`update deliveries set next_at = clock_timestamp() where next_at is not null`
  const sendAll = async () => {
    while (await sendDueNotice(parts));
  }
  const mailsTo = (person: Person, id: string) =>
    mailbox.mails.filter(({ to, message }) => to === person.email && message.text.includes(id))

  proves(
    'question.notices',
    'those who can answer get a mail, without arguments; reminders go to who has not answered',
    async () => {
      await dueNow()
      await sendAll()
      const { id } = await asked([{ name: 'pay', args: { amount: 300, iban: 'DE-SECRET' } }])
      expect(await sendDueNotice(parts)).toBe(false)
      await runtime.sql`update deliveries set next_at = clock_timestamp() where question_id = ${id} and kind = 'asked'`
      await sendAll()
      expect(mailsTo(finance, id)).toHaveLength(1)
      for (const other of [owner, approver, viewer]) expect(mailsTo(other, id)).toEqual([])
      const text = JSON.stringify(mailsTo(finance, id))
      expect(text).toContain(`/questions/${id}`)
      expect(text).toContain('large payment')
      expect(text).not.toContain('DE-SECRET')
      expect(await load(finance, id)).toMatchObject({
        question: { delivered: true },
        deliveries: [{ kind: 'asked', channel: 'mail', to: finance.email, error: null, attempts: 1 }],
      })
      await runtime.sql`update deliveries set next_at = clock_timestamp() where question_id = ${id} and kind = 'reminder-0'`
      await sendAll()
      expect(mailsTo(finance, id)).toHaveLength(2)
      await answer(finance, id)
      await dueNow()
      await sendAll()
      expect(mailsTo(finance, id)).toHaveLength(2)
    },
  )

  proves(
    'question.notices',
    'while mail is down it is tried again, the question can be answered, and it says so',
    async () => {
      const { id } = await asked()
      await runtime.sql`update deliveries set next_at = clock_timestamp() where question_id = ${id} and kind = 'asked'`
      const away = {
        ...parts,
        accounts: {
          ...parts.accounts,
          mail: {
            ...parts.accounts.mail,
            send: async () => {
              throw new Error('no mail today')
            },
          },
        },
      }
      while (await sendDueNotice(away));
      expect(await load(finance, id)).toMatchObject({
        question: { delivered: false },
        deliveries: [{ sent_at: null, attempts: 1, error: 'no mail today' }],
      })
      await runtime.sql`update questions set asked_at = asked_at - interval '6 minutes' where question_id = ${id}`
      expect(await countUndelivered(parts.database.sql)).toBeGreaterThan(0)
      await runtime.sql`
        update deliveries set next_at = clock_timestamp() where question_id = ${id} and kind = 'asked' and next_at is not null`
      await sendAll()
      expect(mailsTo(finance, id)).toHaveLength(1)
      expect((await answer(finance, id)).status).toBe(200)
    },
  )

  proves('question.notices-together', async () => {
    const other = await team()
    const session = await openSession(other.api, { plan, agent: 'buyer' })
    const ask = async (amount: number) => {
      const { decisions } = await session.decide([{ name: 'pay', args: { amount, iban: 'DE-SECRET' } }])
      return decisions[0]?.question?.question_id ?? ''
    }
    const mails = () => mailbox.mails.filter(({ to }) => to === other.finance.email)
    const due = () => runtime.sql`
      update deliveries set next_at = clock_timestamp()
      where next_at is not null and kind = 'asked' and tenant_id = (select tenant_id from users where user_id = ${other.owner.userId})`
    const ids = [await ask(400), await ask(401), await ask(402)]
    const before = mails().length
    await due()
    await sendAll()
    const [together, ...more] = mails().slice(before)
    expect(more).toEqual([])
    expect(together?.message.subject).toMatch(/^3 calls need your answer/)
    expect(together?.message.link).toMatch(/\/questions$/)
    for (const text of [together?.message.text, together?.message.html]) {
      for (const id of ids) expect(text).toContain(id)
      expect(text).toContain('pay by the agent buyer: large payment')
      expect(text).not.toContain('DE-SECRET')
    }
    // 18 more within the hour make 19: one more is sent, and then none for ten minutes.
    await runtime.sql`
      insert into deliveries (tenant_id, question_id, kind, channel, recipient, sent_at)
      select tenant_id, 'Q-' || n, 'asked', 'mail', ${other.finance.userId}, clock_timestamp() - interval '1 minute' * n
      from users, generate_series(1, 18) as n where user_id = ${other.finance.userId}`
    await ask(403)
    await due()
    await sendAll()
    expect(
      mails()
        .slice(before + 1)
        .map(({ message }) => message.subject),
    ).toEqual(['pay needs your answer · Countersign'])
    const late = [await ask(404), await ask(405)]
    await due()
    await sendAll()
    await due()
    await sendAll()
    expect(mails()).toHaveLength(before + 2)
    const [waiting] = await runtime.sql<{ minutes: number; attempts: number }[]>`
      select extract(epoch from next_at - clock_timestamp())::float8 / 60 as minutes, attempts from deliveries
      where question_id = ${late[0] ?? ''} and channel = 'mail'`
    expect(waiting?.attempts).toBe(0)
    expect(waiting?.minutes).toBeGreaterThan(9.5)
    expect(waiting?.minutes).toBeLessThanOrEqual(10)
    await runtime.sql`
      update deliveries set sent_at = sent_at - interval '10 minutes' where recipient = ${other.finance.userId}`
    await due()
    await sendAll()
    expect(mails().slice(before + 2)).toMatchObject([
      { message: { subject: '2 calls need your answer · Countersign' } },
    ])
  })
})
