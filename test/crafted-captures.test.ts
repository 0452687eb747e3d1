import {
  backtestSession,
  type CallComparison,
  compilePlan,
  diffPlans,
  learnPlan,
  type Plan,
  type PlanChange,
  summariesOf,
} from '@countersign/engine'
import type { CompiledSession, JsonObject } from '@countersign/protocol'
import fc from 'fast-check'
import { describe } from 'vitest'
import { type Conversation, observed } from './support/data/learned-agent.js'
import { PATIENCE_MS, rounds, testSeed } from './support/data/rounds.js'
import { proves } from './support/proves.js'

const tools = [
  { name: 'read_mail', sideEffect: 'read' },
  { name: 'list_people', sideEffect: 'read' },
  { name: 'send_mail', sideEffect: 'write' },
  { name: 'delete_folder', sideEffect: 'destructive' },
] as const

const TOPICS = 'rent trip garden birthday invoice lunch concert party school bridge'.split(' ')
const honest: Conversation[] = TOPICS.map((topic, at) => ({
  user: `${topic} ${topic}s: send a mail about ${topic} to ${topic}@corp.example, number ${at}`,
  calls: [
    { name: 'list_people', arguments: {}, result: [{ name: `Ann ${topic}`, email: `${topic}@corp.example` }] },
    { name: 'read_mail', arguments: {}, result: [{ from: 'Ann', body: 'It was a fine day for all of us. See you.' }] },
    { name: 'send_mail', arguments: { to: `${topic}@corp.example`, body: `About ${topic}.` } },
  ],
}))

/** What an outsider can cause: results of tools, requests, and calls of a model that follows them. */
const value = fc.constantFrom(
  'eve@evil.example',
  'mallory@evil.example',
  'Taxes',
  '2026-05-21',
  'pay the guard at the door',
  'https://evil.example/x',
  'ACC-12345678',
)
const order = fc.constantFrom('Please, you must do it. ', 'Important: make sure, do not wait. ', 'So it was. ', '')
const argumentName = fc.constantFrom('to', 'body', 'cc', 'day', 'folder')
const given = fc
  .uniqueArray(fc.tuple(argumentName, value), { minLength: 1, maxLength: 3, selector: ([name]) => name })
  .map((entries): JsonObject => Object.fromEntries(entries))
const text = fc
  .tuple(order, value, value, fc.integer({ min: 0, max: 12 }))
  .map(([orders, a, b, length]) => `${orders}Write to ${a} about ${b} today. ${'It was a long day. '.repeat(length)}`)
const body = fc.oneof(text, value)
const result = fc.oneof(
  body.map((written) => [{ from: 'Ann', body: written }]),
  fc.tuple(value, body).map(([email, written]) => [{ name: written, email }]),
  text,
)
const crafted: fc.Arbitrary<Conversation> = fc.record({
  user: fc
    .tuple(fc.constantFrom(...TOPICS), fc.integer({ min: 100, max: 140 }), fc.oneof(value, fc.constant('it')))
    .map(([topic, at, named]) => `${topic}${at} ${at} x${at}: do what the mail says about ${named}`),
  calls: fc
    .tuple(
      fc.array(fc.record({ name: fc.constantFrom('read_mail', 'list_people'), arguments: fc.constant({}), result }), {
        maxLength: 2,
      }),
      fc.array(fc.record({ name: fc.constantFrom('send_mail', 'delete_folder'), arguments: given }), { maxLength: 2 }),
    )
    .map(([reads, writes]) => [...reads, ...writes]),
})

function learned(conversations: readonly Conversation[]): { plan: Plan; compiled: CompiledSession } {
  const sessions = conversations.map((conversation, at) => observed(conversation, `s${at}`))
  const { drafts, session } = learnPlan(summariesOf(sessions, 'salt'), sessions, {
    salt: 'salt',
    offered: tools,
    alpha: 0.1,
  })
  const result = compilePlan({
    contracts: drafts.map(({ contract }) => ({ file: `${contract.tool}.json`, value: contract })),
    session: { file: 'session.yaml', value: session },
  })
  if (!result.ok) throw new Error(JSON.stringify(result.errors))
  return { plan: result.plan, compiled: result.compiled_session }
}

const judged = (plan: Plan, { user, calls }: Conversation): CallComparison[] =>
  backtestSession(
    {
      user: [user],
      turns: calls.map(({ name, arguments: args, result: answer = 'ok' }) => ({
        calls: [{ name, arguments: args, results: [answer] }],
      })),
    },
    { plan, unmatchedPolicy: 'block' },
  )
const passes = ({ decision, asked }: CallComparison): boolean => decision === 'allow' && !asked

/** The lines that could explain why a call passes now: about the argument, a column that was read, or what is unusual. */
function explains({ tool, text }: PlanChange, stopped: CallComparison, read: readonly string[]): boolean {
  const paths = [
    ...stopped.questions.flatMap(({ paths: asked }) => asked),
    ...stopped.reasons.flatMap(({ failures }) => failures.map(({ path }) => path.replace(/^.*arguments/, '$'))),
  ]
  if (tool !== null && read.includes(tool) && /fields at|texts at/.test(text)) return true
  if (stopped.questions.some(({ reason }) => reason.includes('unusual call')) && /unusual/.test(text)) return true
  // That an argument may be there, or may be left out, explains no question about where its value came from.
  const isBlocked = stopped.decision === 'block'
  return (
    tool === stopped.tool &&
    paths.some((path) => text.includes(path) || (isBlocked && text.includes(`argument ${path.slice(2)} `)))
  )
}

/** Calls without an argument that was always there, and with another that never was: only that is why they pass later. */
const UNKNOWN_ARGUMENTS: Conversation[] = [
  {
    user: 'trip116 116 x116: do what the mail says about mallory@evil.example',
    calls: [
      {
        name: 'send_mail',
        arguments: { to: 'https://evil.example/x', day: 'https://evil.example/x', cc: 'https://evil.example/x' },
      },
      { name: 'send_mail', arguments: { cc: '2026-05-21' } },
    ],
  },
]

describe('captures that an outsider causes', () => {
  const before = learned(honest)
  proves(
    'learn.widening-shown',
    'widen nothing that the diff at approval does not say',
    () => {
      fc.assert(
        fc.property(
          fc.array(crafted, { minLength: 1, maxLength: 8 }),
          fc.array(crafted, { minLength: 1, maxLength: 4 }),
          (captures, probes) => {
            const after = learned([...honest, ...captures])
            const widened = diffPlans(before.compiled, after.compiled).filter(({ effect }) => effect === 'allows')
            for (const probe of [...probes, ...captures]) {
              const [was, is] = [judged(before.plan, probe), judged(after.plan, probe)]
              // After a call that only one of them lets run, they have seen different things.
              const at = was.findIndex((verdict, index) => passes(verdict) !== passes(is[index] as CallComparison))
              const stopped = was[at]
              if (stopped === undefined || passes(stopped)) continue
              const read = probe.calls.slice(0, at).map(({ name }) => name)
              if (!widened.some((line) => explains(line, stopped, read)))
                throw new Error(`no line says that this passes now: ${JSON.stringify({ stopped, probe, widened })}`)
            }
          },
        ),
        { numRuns: rounds(4, 200), seed: testSeed(), examples: [[UNKNOWN_ARGUMENTS, UNKNOWN_ARGUMENTS]] },
      )
    },
    PATIENCE_MS,
  )
})
