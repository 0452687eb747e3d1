// npm run bench -- learned: what does the second stage of a learned plan cost (the question about unusual calls), and how
// does drafting a plan grow? A learned plan and the same plan without its second stage alternate in one run; a draft of
// 400 requests is compared with one of 100, per request. Limit: second_stage at most 1.3.
import {
  compilePlan,
  evaluateProposal,
  flowOf,
  initialState,
  learnPlan,
  newTrail,
  type ObservedSession,
  type Plan,
  readResponse,
  sawCall,
  sawResult,
  sawUser,
  summariesOf,
  takeColumns,
} from '@countersign/engine'
import type { Contract, Flows, SessionDefinition } from '@countersign/protocol'
import { createdEvent } from '../test/support/data/created-event.js'

const ROUNDS = 200
const CALLS_PER_ROUND = 100
const DRAFTS = 5
const SALT = 'bench'
const TOOLS = [
  { name: 'read_inbox', sideEffect: 'read' },
  { name: 'send_message', sideEffect: 'write' },
] as const
const IDS = { sessionId: 's', proposalId: 'p', pendingCallId: (index: number) => `p.${index}` }

/** Reads an inbox of twelve mails and writes to one of their senders. */
function conversation(at: number): { user: string; inbox: unknown; call: { to: string; body: string } } {
  const inbox = Array.from({ length: 12 }, (_, mail) => ({
    from: `person${at}-${mail}@example.com`,
    subject: `Topic ${at} ${mail}`,
    body: `The weather was fine on our trip number ${mail}, and we saw a lot of birds. It was a good week for all of us.`,
  }))
  const to = `person${at}-3@example.com`
  return {
    user: `topic${at} plan${at} idea${at} list${at} note${at}: send a message to the fourth sender in my inbox`,
    inbox,
    call: { to, body: `About topic ${at}: that suits me well, and I look forward to it.` },
  }
}

function seenBy(at: number) {
  const { user, inbox, call } = conversation(at)
  const trail = newTrail('key')
  sawUser(trail, user)
  const read = flowOf(trail, { id: 'call_0', tool: 'read_inbox', arguments: {} })
  sawCall(trail, 'read_inbox', {})
  sawResult(trail, 'read_inbox', inbox)
  const send = flowOf(trail, { id: 'call_1', tool: 'send_message', arguments: call })
  return { trail, read, send, call }
}

function observed(at: number): ObservedSession {
  const { trail, read, send, call } = seenBy(at)
  const [session, request] = [`s${at}`, trail.request ?? undefined]
  return {
    id: session,
    request,
    requestWords: trail.requestWords ?? undefined,
    calls: [
      { session, request, tool: 'read_inbox', arguments: {}, flow: read },
      { session, request, tool: 'send_message', arguments: call, flow: send },
    ],
    columns: takeColumns(trail),
  }
}

const sessions = Array.from({ length: 400 }, (_, at) => observed(at))
const learn = (count: number) => {
  const some = sessions.slice(0, count)
  return learnPlan(summariesOf(some, SALT), some, { salt: SALT, offered: TOOLS, alpha: 0.1 })
}

function planOf(contracts: readonly Contract[], session: SessionDefinition): Plan {
  const compiled = compilePlan({
    contracts: contracts.map((value) => ({ file: `${value.tool}.json`, value })),
    session: { file: 'session.yaml', value: session },
  })
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.errors[0]))
  return compiled.plan
}

const { drafts, session } = learn(100)
const contracts = drafts.map(({ contract }) => contract)
const whole = planOf(contracts, session)
const floor = planOf(
  contracts.map(({ surprise: _, ...contract }) => contract),
  {},
)
const { send, call } = seenBy(401)
const flows: Flows = { calls: [send] }
const RESPONSE = {
  choices: [
    {
      index: 0,
      finish_reason: 'tool_calls',
      message: {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'send_message', arguments: JSON.stringify(call) } },
        ],
      },
    },
  ],
}

function judge(plan: Plan): void {
  const { outcome, decisions } = evaluateProposal({
    plan,
    state: states.get(plan) ?? stateOf(plan),
    response: readResponse(RESPONSE),
    gate: 'reject_all',
    unmatchedPolicy: 'block',
    agent: 'bench',
    salt: SALT,
    nowMs: 0,
    offered: null,
    toolless: false,
    flows,
    ids: IDS,
  })
  if (outcome !== 'allowed') throw new Error(decisions[0]?.remedy ?? outcome)
}

const stateOf = (plan: Plan) => initialState(plan, createdEvent(plan.hash, { agent: 'bench' }))
const states = new Map([whole, floor].map((plan) => [plan, stateOf(plan)]))

const times = { whole: [] as number[], floor: [] as number[] }
for (let round = -40; round < ROUNDS; round++) {
  for (const [name, plan] of [
    ['whole', whole],
    ['floor', floor],
  ] as const) {
    const started = performance.now()
    for (let at = 0; at < CALLS_PER_ROUND; at++) judge(plan)
    if (round >= 0) times[name].push(((performance.now() - started) * 1_000) / CALLS_PER_ROUND)
  }
}
const drafting = { 100: [] as number[], 400: [] as number[] }
for (let round = 0; round < DRAFTS; round++) {
  for (const count of [100, 400] as const) {
    const started = performance.now()
    learn(count)
    drafting[count].push((performance.now() - started) / count)
  }
}

/** The fastest of the interleaved rounds: other work on the machine can only add time. */
const least = (list: readonly number[]) => Math.min(...list)
const rounded = (value: number) => Math.round(value * 100) / 100
const [withStage, without] = [least(times.whole), least(times.floor)]
console.log(`microseconds a call: ${rounded(withStage)} with the second stage, ${rounded(without)} without`)
console.log(
  `milliseconds a request to draft: ${rounded(least(drafting[100]))} of 100, ${rounded(least(drafting[400]))} of 400`,
)
console.log(
  JSON.stringify({
    bench: 'learned',
    second_stage: rounded(withStage / without),
    drafting_growth_100_to_400: rounded(least(drafting[400]) / least(drafting[100])),
  }),
)
