import { Command, MemorySaver } from '@langchain/langgraph'
import * as agents20 from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents-core/testing'
import { generateText, type ModelMessage, stepCountIs, tool } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import * as ai6 from 'ai-6'
import { MockLanguageModelV3 } from 'ai-6/test'
import { AIMessage, createAgent, fakeModel, tool as langchainTool } from 'langchain'
import { afterEach, describe, expect, vi } from 'vitest'
import { z } from 'zod'
import { govern } from '../../../packages/sdk/src/adapters/ai/index.js'
import { countersign } from '../../../packages/sdk/src/adapters/langchain/index.js'
import { govern as governAgents } from '../../../packages/sdk/src/adapters/openai-agents/index.js'
import { openSession } from '../../../packages/sdk/src/index.js'
import { createAskingService } from '../../support/people/served-questions.js'
import { proves } from '../../support/proves.js'
import { agentOf, SDKS as GIVEN } from '../openai-agents-face.js'

const pay = {
  tool: 'pay',
  side_effect: 'write' as const,
  checkpoint: { reason: 'every payment', ask: {} },
}

/** The supported versions, as the newest is typed. */
const SDKS = GIVEN as Readonly<Record<string, typeof agents20>>

afterEach(() => void vi.useRealTimers())

type Service = ReturnType<typeof createAskingService>

/** What one process does: it has what the one before has stored, and nothing else of it. */
interface Way {
  readonly name: string
  /** Runs until people are asked, and gives what is stored. */
  ask(process: Process): Promise<unknown>
  /** Goes on from there; gives what the model read last, and what is stored then. */
  goOn(process: Process, stored: unknown): Promise<{ readonly read: string; readonly stored: unknown }>
}

interface Process {
  readonly session: ReturnType<typeof openSession>
  readonly paid: unknown[]
}

const processOf = (at: Service, contract: object = pay): Process => ({
  session: openSession({
    contracts: [contract as typeof pay],
    apiKey: 'k',
    runtimeUrl: 'http://service.test',
    fetch: at.fetch,
    diagnostics: () => {},
    sessionId: 'ses_1',
  }),
  paid: [],
})

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}
const said = (content: object[], unified: string) => ({
  content,
  finishReason: { unified, raw: undefined },
  usage,
  warnings: [],
})

function aiWay(name: string, sdk: Pick<typeof ai6, 'generateText'>, Mock: typeof MockLanguageModelV4): Way {
  const agentOfProcess = ({ session, paid }: Process, answers: object[]) => {
    const model = new Mock({ doGenerate: answers as never })
    const tools = {
      pay: tool({
        inputSchema: z.object({ amount: z.number() }),
        execute: (args) => {
          paid.push(args)
          return 'paid'
        },
      }),
    }
    return { model, agent: { ...govern(session, { model, tools }), stopWhen: stepCountIs(4) } as never as object }
  }
  return {
    name,
    async ask(process) {
      const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'pay', input: '{"amount":900}' }
      const { agent } = agentOfProcess(process, [said([call], 'tool-calls')])
      const messages: ModelMessage[] = [{ role: 'user', content: 'pay' }]
      const asked = await sdk.generateText({ ...agent, messages } as never)
      const question = asked.content.find((part: { type: string }) => part.type === 'tool-approval-request') as
        | { approvalId: string }
        | undefined
      expect(question).toBeDefined()
      messages.push(...(asked.response.messages as ModelMessage[]))
      messages.push({
        role: 'tool',
        content: [{ type: 'tool-approval-response', approvalId: question?.approvalId ?? '', approved: true }],
      })
      return messages
    },
    async goOn(process, stored) {
      const { agent, model } = agentOfProcess(process, [said([{ type: 'text', text: 'done' }], 'stop')])
      await sdk.generateText({ ...agent, messages: stored } as never)
      const { prompt } = model.doGenerateCalls.at(-1) ?? { prompt: [] }
      return { read: JSON.stringify(prompt.at(-1)), stored }
    },
  }
}

const saver = new MemorySaver()

const WAYS: readonly Way[] = [
  aiWay('ai 7', { generateText } as never, MockLanguageModelV4),
  aiWay('ai 6', ai6, MockLanguageModelV3 as never),
  {
    name: 'langchain',
    async ask({ session, paid }) {
      const thread = { configurable: { thread_id: `t${Math.random()}` } }
      const model = fakeModel().respondWithTools([{ name: 'pay', args: { amount: 900 }, id: 'c1' }])
      const asked = await graphOf(session, paid, model).invoke({ messages: [{ role: 'user', content: 'pay' }] }, thread)
      expect(asked.__interrupt__?.[0]?.value).toMatchObject({ tool: 'pay', callId: 'c1' })
      return thread
    },
    async goOn({ session, paid }, stored) {
      const model = fakeModel().respond(new AIMessage('done'))
      const graph = graphOf(session, paid, model)
      const after = await graph.invoke(
        new Command({ resume: { decision: 'approve', decidedBy: 'ann' } }),
        stored as never,
      )
      const interrupted = after.__interrupt__?.[0]?.value as { question: string } | undefined
      const last = after.messages.findLast((message) => message.type === 'tool')
      return { read: interrupted === undefined ? String(last?.content) : `waits for ${interrupted.question}`, stored }
    },
  },
  {
    name: 'openai-agents',
    async ask({ session, paid }) {
      const model = new ScriptedModel([[functionCall('pay', { amount: 900 }, { callId: 'c1' })]])
      const agent = governAgents(session, agentOf({ tools: { pay: (args) => void paid.push(args) } }, model, session))
      const asked = await new agents20.Runner().run(agent, 'pay')
      const [question] = asked.interruptions
      asked.state.approve(question as never, { alwaysApprove: true })
      return asked.state.toString()
    },
    async goOn({ session, paid }, stored) {
      const model = new ScriptedModel([[assistantMessage('done')]])
      const agent = governAgents(
        session,
        agentOf({ tools: { pay: (args: unknown) => paid.push(args) && 'paid' } } as never, model, session),
      )
      const state = await agents20.RunState.fromString(agent as never, String(stored))
      await new agents20.Runner().run(agent, state as never)
      const { input } = model.calls.at(-1)?.request ?? { input: [] }
      return { read: JSON.stringify(input.at(-1)), stored }
    },
  },
]

function graphOf(session: Process['session'], paid: unknown[], model: ReturnType<typeof fakeModel>) {
  const run = async (args: unknown) => {
    paid.push(args)
    return 'paid'
  }
  const tools = [langchainTool(run, { name: 'pay', schema: { type: 'object' } })]
  return createAgent({ model: model as never, tools, middleware: [countersign(session)], checkpointer: saver })
}

for (const { name, ask, goOn } of WAYS) {
  describe(name, () => {
    proves('ask.frameworks', 'asks in one process, and runs in another, once', async () => {
      const at = createAskingService()
      const first = processOf(at)
      const stored = await ask(first)
      expect(at.questions('ses_1')).toMatchObject([{ state: 'waiting', call_id: 'c1' }])
      await first.session.park()
      at.answer('ses_1', { decision: 'approve' })
      const second = processOf(at)
      expect((await goOn(second, stored)).read).toContain('paid')
      expect([...first.paid, ...second.paid]).toEqual([{ amount: 900 }])
      expect(at.questions('ses_1')).toMatchObject([{ state: 'used' }])
      await second.session.close()
    })

    proves('ask.edited', 'runs a call in another process as a person changed it', async () => {
      const at = createAskingService()
      const first = processOf(at)
      const stored = await ask(first)
      await first.session.park()
      at.answer('ses_1', { decision: 'approve', arguments: { amount: 400 } })
      const second = processOf(at)
      expect((await goOn(second, stored)).read).toMatch(/paid|A person changed amount from 900 to 400\./)
      expect([...first.paid, ...second.paid]).toEqual([{ amount: 400 }])
      await second.session.close()
    })

    proves('ask.frameworks', 'goes on too early: nothing runs, and the model reads that it waits', async () => {
      const at = createAskingService()
      const first = processOf(at)
      const stored = await ask(first)
      await first.session.park()
      const early = processOf(at)
      expect((await goOn(early, stored)).read).toMatch(/waits for/)
      expect([...first.paid, ...early.paid]).toEqual([])
      await early.session.close()
    })

    proves('ask.frameworks', 'a refusal in between is what the model reads', async () => {
      const at = createAskingService()
      const first = processOf(at)
      const stored = await ask(first)
      await first.session.park()
      at.answer('ses_1', { decision: 'deny', note: 'Not this month' })
      const second = processOf(at)
      expect((await goOn(second, stored)).read).toContain('A person refused this call of pay: Not this month.')
      expect(second.paid).toEqual([])
      await second.session.close()
    })

    proves(
      'ask.own-question-survives',
      "a question of the program's own is approved in another process, within its time, and runs once",
      async () => {
        const own = { ...pay, checkpoint: { reason: 'every payment', timeout_seconds: 600 } }
        for (const minutes of [5, 11]) {
          const at = createAskingService()
          const first = processOf(at, own)
          const stored = await ask(first)
          await first.session.park()
          expect(at.questions('ses_1')).toEqual([])
          vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + minutes * 60_000 })
          const second = processOf(at, own)
          const { read } = await goOn(second, stored)
          const isInTime = minutes < 10
          if (isInTime) expect(read).toContain('paid')
          expect([...first.paid, ...second.paid]).toEqual(isInTime ? [{ amount: 900 }] : [])
          expect(at.state('ses_1').checkpointsTriggered).toBe(1)
          await second.session.close()
          vi.useRealTimers()
        }
      },
    )
  })
}

for (const { name, ask, goOn } of WAYS.filter((way) => way.name.startsWith('ai '))) {
  /** The person said no where the first process asked. */
  const denied = (stored: unknown): unknown => {
    const messages = stored as ModelMessage[]
    const last = messages.at(-1) as { content: object[] }
    return [...messages.slice(0, -1), { ...last, content: last.content.map((part) => ({ ...part, approved: false })) }]
  }

  proves(
    'ask.refused-elsewhere',
    `${name}: a call that was refused in another process is on record as refused`,
    async () => {
      const at = createAskingService()
      const own = { ...pay, checkpoint: { reason: 'every payment', timeout_seconds: 600 } }
      const first = processOf(at, own)
      const stored = await ask(first)
      await first.session.park()
      const second = processOf(at, own)
      await goOn(second, denied(stored))
      expect([...first.paid, ...second.paid]).toEqual([])
      expect(at.state('ses_1').refused).toMatchObject([{ tool: 'pay' }])
      expect(at.state('ses_1').checkpointsTriggered).toBe(1)
      await second.session.close()
    },
  )

  proves(
    'ask.refused-elsewhere',
    `${name}: a question that the program does not want any more is withdrawn`,
    async () => {
      const at = createAskingService()
      const first = processOf(at)
      const stored = await ask(first)
      await first.session.park()
      const second = processOf(at)
      await goOn(second, denied(stored))
      expect(at.questions('ses_1')).toMatchObject([{ state: 'withdrawn', cause: 'holder' }])
      expect([...first.paid, ...second.paid]).toEqual([])
      await second.session.close()
    },
  )
}

interface Item {
  readonly rawItem: { readonly callId?: string }
}

describe("openai-agents, a question of the program's own that went on in another process", () => {
  const own = { ...pay, checkpoint: { reason: 'every payment', timeout_seconds: 600 } }
  const decisions = {
    undecided: { calls: ['c1', 'c2'], approved: [], rejected: [] },
    'undecided, alone': { calls: ['c1'], approved: [], rejected: [] },
    rejected: { calls: ['c1'], approved: [], rejected: ['c1'] },
    'one of two approved': { calls: ['c1', 'c2'], approved: ['c1'], rejected: [] },
    'both approved': { calls: ['c1', 'c2'], approved: ['c1', 'c2'], rejected: [] },
    'one approved, one rejected': { calls: ['c1', 'c2'], approved: ['c2'], rejected: ['c1'] },
  } as const
  for (const [sdkName, sdk] of Object.entries(SDKS)) {
    for (const [name, { calls, approved, rejected }] of Object.entries(decisions)) {
      proves('ask.own-question-survives', `${name}: only an approved call runs, ${sdkName}`, async () => {
        const at = createAskingService()
        const amounts: Record<string, number> = { c1: 900, c2: 901 }
        const agentIn = ({ session, paid }: Process, turns: ConstructorParameters<typeof ScriptedModel>[0]) => {
          const tools = { pay: (args: unknown) => paid.push(args) && 'paid' }
          const model = new ScriptedModel(turns)
          return governAgents(session, agentOf({ tools } as never, model, session, sdk)) as never
        }
        const decide = (
          state: { approve(item: never): void; reject(item: never): void },
          items: readonly Item[],
          ids: { readonly approved: readonly string[]; readonly rejected: readonly string[] },
        ) => {
          for (const item of items) {
            if (ids.approved.includes(item.rawItem.callId ?? '')) state.approve(item as never)
            if (ids.rejected.includes(item.rawItem.callId ?? '')) state.reject(item as never)
          }
        }
        const first = processOf(at, own)
        const proposed = calls.map((callId) => functionCall('pay', { amount: amounts[callId] }, { callId }))
        const asked = await new sdk.Runner().run(agentIn(first, [proposed]), 'pay')
        expect(asked.interruptions).toHaveLength(calls.length)
        decide(asked.state, asked.interruptions as never, { approved, rejected })
        const stored = asked.state.toString()
        await first.session.park()

        const second = processOf(at, own)
        const agent = agentIn(second, [[assistantMessage('done')]])
        const went = await new sdk.Runner().run(agent, (await sdk.RunState.fromString(agent, stored)) as never)
        expect(second.paid).toEqual(approved.map((id) => ({ amount: amounts[id] })))
        const open = calls.filter((id) => ![...approved, ...rejected].some((decided) => decided === id))
        expect((went.interruptions as unknown as Item[]).map(({ rawItem }) => rawItem.callId)).toEqual(open)

        // Those left open are asked once more, and run once they are approved.
        if (open.length > 0) {
          decide(went.state, went.interruptions as never, { approved: open, rejected: [] })
          await new sdk.Runner().run(agent, went.state as never)
        }
        const ran = [...approved, ...open].map((id) => ({ amount: amounts[id] }))
        expect(second.paid).toEqual(ran)
        expect(first.paid).toEqual([])
        await second.session.close()
      })
    }

    proves('ask.own-question-survives', `alwaysApprove approves no later call, ${sdkName}`, async () => {
      const { session, paid } = processOf(createAskingService(), own)
      const calls = ['c1', 'c2'].map((callId) => [functionCall('pay', { amount: 900 }, { callId })])
      const model = new ScriptedModel([...calls, [assistantMessage('done')]])
      const tools = { pay: (args: unknown) => paid.push(args) && 'paid' }
      const agent = governAgents(session, agentOf({ tools } as never, model, session, sdk))
      const asked = await new sdk.Runner().run(agent, 'pay')
      asked.state.approve(asked.interruptions[0] as never, { alwaysApprove: true })
      await new sdk.Runner().run(agent, asked.state as never)
      expect(paid).toEqual([{ amount: 900 }])
      await session.close()
    })
  }
})
