import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect } from 'vitest'
import { PATIENCE_MS, rounds } from '../../support/data/rounds.js'
import { checkSession } from '../../support/model/session-checker.js'
import { answerAs } from '../../support/people/answering.js'
import {
  type Asker,
  GATEWAY_CONTRACT,
  type SlowTool,
  startGatewayAsker,
  startSdkAsker,
  startSlowTool,
} from '../../support/people/askers.js'
import { type Held, type PostgresProxy, startPostgresProxy } from '../../support/postgres/postgres-proxy.js'
import { withKillableProcesses } from '../../support/process/killable-processes.js'
import { type ReplyGate, startReplyGate } from '../../support/process/reply-gate.js'
import { proves } from '../../support/proves.js'
import { exportOf } from '../../support/runtime/ledger-export.js'

let proxy: PostgresProxy
const service = withKillableProcesses(async (url) => {
  proxy = await startPostgresProxy(url)
  return proxy.url
})
let tool: SlowTool
let gate: ReplyGate
beforeAll(async () => {
  tool = await startSlowTool()
  gate = await startReplyGate(service.origin)
  const files = [{ file: 'contracts/pay.yaml', text: JSON.stringify(GATEWAY_CONTRACT) }]
  const { body } = await service.api.submitPlan({ body: { agent: 'shopper', environment: 'production', files } })
  await service.owner.call('approvePlan', { params: { plan_id: body.plan.plan_id }, body: { why: 'as it should be' } })
})
afterAll(async () => {
  tool.close()
  gate.close()
  await proxy.close()
})

type Step = 'ask' | 'answer' | 'use' | 'claim' | 'run' | 'receipt'
type Moment = 'before' | 'within' | 'after'
type Point = 'run' | `${Step} ${Moment}`

/** What a program sends. A person's answer does not pass through it, and its tool runs elsewhere. */
const REQUESTS: Partial<Record<Step, RegExp>> = {
  ask: /POST .*\/proposals/,
  use: /POST .*\/proposals/,
  claim: /POST .*\/claims/,
  receipt: /POST .*\/receipts/,
}
/** What the service writes then: the first three in a transaction. */
const STATEMENTS: Partial<Record<Step, RegExp>> = {
  ask: /insert into questions/i,
  answer: /insert into answers/i,
  use: /update questions/i,
  claim: /select record(_\d+)?\(/i,
  receipt: /select receive(_\d+)?\(/i,
}
const IN_TRANSACTION: readonly Step[] = ['ask', 'answer', 'use']

interface Victim {
  readonly kill: (asker: Asker) => Promise<void>
  readonly start: typeof startSdkAsker
  /** Stops what was meant to happen there, until it is opened. */
  readonly hold: (step: Step, moment: Moment) => { readonly reached: Promise<void>; open(): void }
  /** Where it is killed: at all of them in long rounds. */
  readonly points: readonly Point[]
  readonly first: readonly Point[]
}

const ofProgram = {
  kill: (asker) => asker.kill(),
  hold: (step, moment) => gate.hold(REQUESTS[step] ?? /never/, moment === 'before' ? 'request' : 'reply'),
} satisfies Partial<Victim>
const ofService = {
  start: startSdkAsker,
  hold: (step, moment) => {
    const committed: Held = IN_TRANSACTION.includes(step) ? 'commit' : 'answer'
    const what = { before: 'request', within: 'answer', after: committed } as const
    return { reached: proxy.hold(STATEMENTS[step] ?? /never/, what[moment]), open: proxy.release }
  },
  points: [
    ...(['ask', 'answer', 'use', 'claim', 'receipt'] as const).flatMap((step): Point[] => {
      const within: Point[] = IN_TRANSACTION.includes(step) ? [`${step} within`] : []
      return [`${step} before`, ...within, `${step} after`]
    }),
    'run',
  ],
} satisfies Partial<Victim>
const around = (...steps: Step[]): Point[] => steps.flatMap((step): Point[] => [`${step} before`, `${step} after`])

const VICTIMS: Readonly<Record<string, Victim>> = {
  client: {
    ...ofProgram,
    start: startSdkAsker,
    points: [...around('ask', 'use', 'claim', 'receipt'), 'run'],
    first: ['ask after', 'use after', 'run'],
  },
  // What it has proposed itself it need not claim.
  gateway: {
    ...ofProgram,
    start: startGatewayAsker,
    points: [...around('ask', 'use', 'receipt'), 'run'],
    first: ['receipt before'],
  },
  service: { ...ofService, kill: () => service.killService(), first: ['answer after'] },
  PostgreSQL: { ...ofService, kill: () => service.killPostgres(), first: ['use within'] },
}
/** The approval is spent and the program that had it is gone: nothing runs the call. Everywhere else it runs. */
const NEVER_RUNS: readonly string[] = ['use after', 'claim before', 'claim after'].flatMap((point) => [
  `client ${point}`,
  `gateway ${point}`,
])

/** Tries again while nothing is there, as programs and people do. */
async function insistently<T>(attempt: () => Promise<T>): Promise<T> {
  const end = Date.now() + 60_000
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (Date.now() > end) throw error
      await sleep(100)
    }
  }
}

const questionsOf = (id: string) =>
  service.sql<{ questionId: string; state: string; answers: number }[]>`
    select question_id, state, (select count(*)::int from answers a where a.question_id = q.question_id) as answers
    from questions q where session_id = ${id} order by asked_at`

for (const [name, { kill, start, hold, points, first }] of Object.entries(VICTIMS)) {
  for (const point of rounds(0, 1) === 1 ? points : first) {
    const [fatal, moment = 'before'] = point.split(' ') as [Step, Moment?]
    const runs = NEVER_RUNS.includes(`${name} ${point}`) ? 0 : 1
    proves(
      'ask.kill-points',
      `${name} killed, ${point}: the answer is kept, and the call runs ${runs === 0 ? 'not' : 'once'}`,
      async () => {
        const id = `ses-${name}-${point.replace(' ', '-')}`
        const begin = () => start(id, { key: service.key, apiUrl: gate.url, tool })
        let asker = await begin()
        /** Does a step; where one of these is fatal, the victim dies there, and the step is tried again. */
        const survive = async (steps: readonly Step[], attempt: () => Promise<unknown>) => {
          if (!steps.includes(fatal)) return attempt()
          const held = fatal === 'run' ? tool.hold() : hold(fatal, moment)
          const trying = attempt().catch(() => {})
          await held.reached
          await kill(asker)
          held.open()
          if (name === 'client' || name === 'gateway') asker = await begin()
          else await trying
          await insistently(attempt)
        }
        await survive(['ask'], () => asker.ask())
        const [asked, ...others] = await questionsOf(id)
        expect([asked?.state, others]).toEqual(['waiting', []])
        const { questionId = '' } = asked ?? {}
        await survive(['answer'], async () => {
          expect(tool.ran).not.toContain(id)
          expect(await answerAs(service.owner, questionId, { decision: 'approve' })).toBe(200)
        })
        expect(await questionsOf(id)).toEqual([{ questionId, state: 'approved', answers: 1 }])
        await survive(['use', 'claim', 'run', 'receipt'], () => asker.goOn(questionId))
        // However often it is tried.
        await asker.goOn(questionId)
        await asker.close()
        expect(tool.ran.filter((ran) => ran === id)).toHaveLength(runs)
        expect((await questionsOf(id))[0]).toEqual({ questionId, state: 'used', answers: 1 })
        const exported = await exportOf(service.api, id)
        expect(await checkSession(service.sql, id, exported)).toEqual([])
        const allowed = exported.events.flatMap(({ type, body }) =>
          type === 'proposal'
            ? (body.calls as { decision: string }[]).filter(({ decision }) => decision === 'allow')
            : [],
        )
        expect(allowed).toMatchObject([{ question: { question_id: questionId, step: 'used' } }])
      },
      PATIENCE_MS,
    )
  }
}
