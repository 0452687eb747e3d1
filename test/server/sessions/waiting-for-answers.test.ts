import { expect, test } from 'vitest'
import { pay, withAsking } from '../../support/model/asking-people.js'
import { proves } from '../../support/proves.js'
import { openSession } from '../../support/runtime/governed-session.js'
import { planOf } from '../../support/runtime/plans.js'

const { runtime, api, owner, finance, approver, open, asked, load, answer, proofOf, waitingList } = await withAsking()
/** People reach the service through the other instance, which has another address. */
const base = await runtime.instances[1]?.listen()

const questionsUrl = (sessionId: string, version: string) =>
  `${base}/api/v1/replay/sessions/${sessionId}/questions?wait=25&after=${version}`
const headers = (key: string) => ({ authorization: `Bearer ${key}` })

proves('question.wait-ends', 'a request that waits gives its place up when its client has left', async () => {
  const { session } = await asked()
  const { version } = (await waitingList(session)).body
  const url = questionsUrl(session.sessionId, version)
  const left = new AbortController()
  /** A busy service may refuse one, or its time may be up: the client asks again. */
  const wait = async (): Promise<void> => {
    while (!left.signal.aborted) {
      await fetch(url, { headers: headers(owner.key), signal: left.signal })
        .then((response) => response.text())
        .catch(() => null)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
  const waits = Array.from({ length: 64 }, wait)
  const reply = async (): Promise<{ retry_after: number | null }> => {
    const response = await fetch(url.replace('wait=25', 'wait=1'), { headers: headers(owner.key) })
    return response.json()
  }
  await expect.poll(async () => (await reply()).retry_after, { timeout: 20_000 }).toBe(5)
  left.abort()
  await Promise.all(waits)
  await expect.poll(async () => (await reply()).retry_after, { timeout: 15_000 }).toBeNull()
})

proves('question.wait-ends', 'a key that was revoked while its request waited reads nothing', async () => {
  const { session, id } = await asked()
  const { version } = (await waitingList(session)).body
  const made = await owner.call('createKey', { body: { name: 'short', access: 'read' } })
  const { api_key, key } = made.body
  const waits = fetch(questionsUrl(session.sessionId, version), { headers: headers(api_key) })
  await expect.poll(async () => (await load(finance, id)).question.state).toBe('waiting')
  await new Promise((resolve) => setTimeout(resolve, 300))
  await owner.call('revokeKey', { params: { key_id: key.key_id } })
  await answer(finance, id)
  expect((await waits).status).toBe(401)
})

proves(
  'question.withdrawn-by-kill',
  'a question that is asked in the write that trips the breaker is withdrawn',
  async () => {
    const plan = planOf([{ tool: 'mail', side_effect: 'write', checkpoint: { reason: 'a mail leaves', ask: {} } }], {
      session_limits: { circuit_breaker: { consecutive_blocks: 1 } },
    })
    const session = await openSession(api, { plan })
    const calls = [
      { name: 'mail', args: {} },
      { name: 'unknown', args: {} },
    ]
    const { decisions, status } = await session.decide(calls, { gate: 'strip_partial' })
    const id = decisions[0]?.question?.question_id ?? ''
    expect(status).toBe('KILLED')
    expect((await load(approver, id)).question).toMatchObject({ state: 'withdrawn', cause: 'killed' })
    expect((await answer(approver, id)).code).toBe('QUESTION_DECIDED')
    expect(await proofOf(session)).toMatchObject({ verified: true })
  },
)

test('the questions of a long session are listed from a thread, which does not wait', async () => {
  const { session, id } = await asked()
  await runtime.sql`
    update session_heads set state = state || repeat(' ', 70000) where session_id = ${session.sessionId}`
  const ask = async (query: string) => {
    const url = `${base}/api/v1/replay/sessions/${session.sessionId}/questions${query}`
    return (await fetch(url, { headers: headers(owner.key) })).json()
  }
  const listed = await ask('')
  expect(listed).toMatchObject({ questions: [{ question_id: id, url: `${base}/questions/${id}` }] })
  expect(await ask(`?wait=25&after=${listed.version}`)).toMatchObject({ version: listed.version, retry_after: 5 })
})

test('who is asked only later reads from when', async () => {
  const ask = { role: 'owner', escalate: [{ after: '4h', role: 'finance' }] }
  const plan = planOf([{ tool: 'pay', side_effect: 'financial', checkpoint: { reason: 'r', ask } }])
  const { id } = await asked(pay(300), await open({ plan }))
  const { card, may } = await load(finance, id)
  const from = card?.eligible[0]?.[1]?.from
  expect(may.why_not).toBe(`It asks you only from ${from} on, if others have not answered by then.`)
  expect((await load(approver, id)).may.why_not).toBe('It asks owner or finance, and you are not one.')
})

test('the page of a question says what is left of the limits', async () => {
  const plan = planOf([{ tool: 'mail', side_effect: 'write', checkpoint: { reason: 'a mail leaves', ask: {} } }], {
    session_limits: { max_steps: 7, max_calls_per_tool: { mail: 3 } },
  })
  const { id } = await asked([{ name: 'mail', args: {} }], await open({ plan }))
  expect((await load(approver, id)).remaining).toEqual({
    steps: 7,
    tool_calls: null,
    cost: null,
    calls_this_minute: null,
    calls_per_tool: { mail: 3 },
    checkpoints: 9,
  })
})
