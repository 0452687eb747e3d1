// A program with one agent framework after another, in a process of its own: it asks people, or goes on from what an earlier
// process has stored. It reads one JSON object, and writes one.
import { json } from 'node:stream/consumers'
import { deserialize, serialize } from 'node:v8'
import { openSession } from '@countersign/sdk'
import { govern as governAi } from '@countersign/sdk/ai'
import { countersign } from '@countersign/sdk/langchain'
import { govern as governAgents } from '@countersign/sdk/openai-agents'
import { Command, MemorySaver } from '@langchain/langgraph'
import { Agent, tool as agentsTool, Runner, RunState, setTracingDisabled } from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents-core/testing'
import { generateText, stepCountIs, tool } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { generateText as generateText6 } from 'ai-6'
import { MockLanguageModelV3 } from 'ai-6/test'
import { AIMessage, createAgent, fakeModel, tool as langchainTool } from 'langchain'
import { z } from 'zod'

setTracingDisabled(true)
const CALL = { id: 'c1', args: { amount: 900 } }

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}
const said = (content, unified) => ({ content, finishReason: { unified, raw: undefined }, usage, warnings: [] })

/** What is stored are the messages of the conversation. */
const aiSdk = (generate, Mock) => {
  const run = (session, pay, messages, answer) => {
    const model = new Mock({ doGenerate: [answer] })
    const tools = { pay: tool({ inputSchema: z.object({ amount: z.number() }), execute: pay }) }
    return generate({ ...governAi(session, { model, tools }), messages, stopWhen: stepCountIs(4) })
  }
  return {
    async ask(session, pay) {
      const call = { type: 'tool-call', toolCallId: CALL.id, toolName: 'pay', input: JSON.stringify(CALL.args) }
      const messages = [{ role: 'user', content: 'pay' }]
      const asked = await run(session, pay, messages, said([call], 'tool-calls'))
      const { approvalId } = asked.content.find(({ type }) => type === 'tool-approval-request')
      const content = [{ type: 'tool-approval-response', approvalId, approved: true }]
      return [...messages, ...asked.response.messages, { role: 'tool', content }]
    },
    goOn: (session, pay, messages) => run(session, pay, messages, said([{ type: 'text', text: 'done' }], 'stop')),
  }
}

/** What is stored are the checkpoints of the graph, as its own checkpointer has written them. */
const langGraph = () => {
  const thread = { configurable: { thread_id: 't1' } }
  const graphOf = (session, pay, model, checkpointer) => {
    const tools = [langchainTool(pay, { name: 'pay', schema: { type: 'object' } })]
    return createAgent({ model, tools, middleware: [countersign(session)], checkpointer })
  }
  return {
    async ask(session, pay) {
      const saver = new MemorySaver()
      const model = fakeModel().respondWithTools([{ name: 'pay', ...CALL }])
      await graphOf(session, pay, model, saver).invoke({ messages: [{ role: 'user', content: 'pay' }] }, thread)
      return serialize({ storage: saver.storage, writes: saver.writes }).toString('base64')
    },
    async goOn(session, pay, stored) {
      const saver = Object.assign(new MemorySaver(), deserialize(Buffer.from(stored, 'base64')))
      const graph = graphOf(session, pay, fakeModel().respond(new AIMessage('done')), saver)
      await graph.invoke(new Command({ resume: { decision: 'approve', decidedBy: 'ann' } }), thread)
    },
  }
}

/** What is stored is the state of the run. */
const openAiAgents = () => {
  const agentOf = (session, pay, turns) => {
    const parameters = { type: 'object', properties: {}, required: [], additionalProperties: true }
    const made = agentsTool({ name: 'pay', description: 'pays', parameters, strict: false, execute: pay })
    return governAgents(session, new Agent({ name: 'buyer', model: new ScriptedModel(turns), tools: [made] }))
  }
  return {
    async ask(session, pay) {
      const agent = agentOf(session, pay, [[functionCall('pay', CALL.args, { callId: CALL.id })]])
      const { state, interruptions } = await new Runner().run(agent, 'pay')
      state.approve(interruptions[0])
      return state.toString()
    },
    async goOn(session, pay, stored) {
      const agent = agentOf(session, pay, [[assistantMessage('done')]])
      await new Runner().run(agent, await RunState.fromString(agent, stored))
    },
  }
}

const WAYS = {
  'ai 7': aiSdk(generateText, MockLanguageModelV4),
  'ai 6': aiSdk(generateText6, MockLanguageModelV3),
  langgraph: langGraph(),
  'openai-agents': openAiAgents(),
}

const { step, options, stored = {} } = await json(process.stdin)
const results = {}
for (const [name, way] of Object.entries(WAYS)) {
  const paid = []
  const sessionId = `ses-${name.replace(' ', '-')}`
  const session = openSession({ ...options, sessionId, diagnostics: () => {} })
  const pay = async (args) => {
    paid.push(args)
    return 'paid'
  }
  const result = await way[step](session, pay, stored[name])
  const questions = step === 'ask' ? await session.park() : await session.questions()
  if (step !== 'ask') await session.close()
  results[name] = { paid, questions, stored: step === 'ask' ? result : null }
}
process.stdout.write(JSON.stringify(results), () => process.exit())
