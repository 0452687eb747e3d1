import type { Contract } from '@countersign/protocol'
import { type GovernedSession, openSession, type ToolUse } from '../runtime/governed-session.js'
import { createMailbox } from '../runtime/mailbox.js'
import type { Person } from '../runtime/person.js'
import { planOf } from '../runtime/plans.js'
import type { Api } from '../runtime/runtime.js'
import { joinTeam, newOwner } from '../runtime/team.js'
import { withRuntime } from '../runtime/with-runtime.js'

const CONTRACTS: readonly Contract[] = [
  {
    tool: 'pay',
    side_effect: 'financial',
    checkpoint: [
      { when: [{ path: '$.amount', gt: 200 }], reason: 'large payment', ask: { role: 'finance' } },
      { when: [{ path: '$.amount', gt: 5_000 }], reason: 'very large payment', ask: { role: 'owner' } },
    ],
  },
  { tool: 'look', side_effect: 'read' },
  { tool: 'mail', side_effect: 'write', checkpoint: { reason: 'a mail leaves', ask: {} } },
  { tool: 'four_eyes', side_effect: 'write', checkpoint: { reason: 'two', ask: { count: 2, self: 'never' } } },
]
export const ASKING_PLAN = planOf(CONTRACTS)

interface Team {
  readonly api: Api
  readonly owner: Person & { userId: string; key: string }
  readonly finance: Person & { userId: string }
  readonly approver: Person & { userId: string }
  readonly viewer: Person & { userId: string }
}

export const pay = (amount: number): ToolUse[] => [{ name: 'pay', args: { amount } }]
export const params = (question_id: string) => ({ question_id })

/** Two instances, and a tenant with people who answer questions. */
export async function withAsking(config: Readonly<Record<string, string>> = {}) {
  const mailbox = createMailbox()
  const { runtime } = await withRuntime({
    mailer: mailbox,
    instances: 2,
    config: { COUNTERSIGN_DEFAULT_QUOTA: 'scale', COUNTERSIGN_TRUSTED_PROXIES: '127.0.0.1', ...config },
  })
  const { parts } = runtime.instances[0]

  let address = 0
  const own = () => {
    address += 1
    const from = address
    const fetchFrom: typeof fetch = async (input, init) => {
      const request = new Request(input, init)
      request.headers.set('x-forwarded-for', `198.51.100.${from}`)
      return runtime.fetch(request)
    }
    return { ...runtime, fetch: fetchFrom }
  }

  async function team(): Promise<Team> {
    const here = own()
    const owner = await newOwner(here, mailbox)
    return {
      api: runtime.api(owner.key),
      owner,
      finance: await joinTeam(here, mailbox, { owner, role: 'approver', groups: ['finance'] }),
      approver: await joinTeam(here, mailbox, { owner, role: 'approver' }),
      viewer: await joinTeam(here, mailbox, { owner, role: 'viewer', groups: ['finance'] }),
    }
  }
  const people = await team()
  const { api, owner, finance, approver, viewer } = people

  const open = (given = {}) => openSession(api, { plan: ASKING_PLAN, ...given })

  /** A session in which a call has been asked about, and the id of its question. */
  async function asked(calls = pay(300), session?: GovernedSession) {
    const s = session ?? (await open())
    const { decisions } = await s.decide(calls)
    const id = decisions[0]?.question?.question_id
    if (id === undefined) throw new Error(`nothing was asked: ${JSON.stringify(decisions)}`)
    return { session: s, id, decision: decisions[0] }
  }
  const load = async (person: Person, id: string) => (await person.call('loadQuestion', { params: params(id) })).body
  const answer = async (
    person: Person,
    id: string,
    decision: 'approve' | 'deny' = 'approve',
    more: Record<string, unknown> = {},
  ) => {
    const { card_hash } = await load(person, id)
    return person.call('answerQuestion', { params: params(id), body: { card_hash, decision, ...more } })
  }
  const storedAnswers = (id: string) => runtime.sql`select * from answers where question_id = ${id}`
  const proofOf = async (session: GovernedSession) =>
    (await owner.call('loadProof', { params: { session_id: session.sessionId } })).body
  const waitingList = (session: GovernedSession, query: Record<string, string> = {}) =>
    session.api.listSessionQuestions({ params: { session_id: session.sessionId }, query })
  return {
    runtime,
    parts,
    team,
    api,
    owner,
    finance,
    approver,
    viewer,
    open,
    asked,
    load,
    answer,
    storedAnswers,
    proofOf,
    waitingList,
    mailbox,
    own,
  }
}
