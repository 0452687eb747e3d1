// A program with the SDK. The test tells it each step, so that it can be stopped and killed between any two.
import { openSession } from '@countersign/sdk'

const sessions = new Map()
const turns = new Map()

const STEPS = {
  /** The tool is elsewhere, as most are: it goes on whatever becomes of this process. */
  open({ id, toolUrl, inDoubt, ...options }) {
    const pay = async ({ of }) => {
      const body = JSON.stringify({ of, session: id, pid: process.pid })
      return (await fetch(toolUrl, { method: 'POST', body })).json()
    }
    const onInDoubt = inDoubt === undefined ? undefined : () => inDoubt
    sessions.set(id, openSession({ ...options, sessionId: id, tools: { pay }, onInDoubt }))
  },
  async prepare({ id }) {
    turns.set(id, await sessions.get(id).prepare({ model: 'm', tools: ['pay'] }))
  },
  async propose({ id, calls }) {
    const verdicts = await turns.get(id).propose({
      calls: calls.map((call) => ({ id: call, name: 'pay', arguments: { of: call } })),
    })
    return verdicts.map(({ verdict }) => verdict)
  },
  run: async ({ id, call }) => (await sessions.get(id).invoke({ callId: call })).ran,
  questions: async ({ id }) => (await sessions.get(id).questions()).map(({ questionId, state }) => [questionId, state]),
  resume: async ({ id, question }) => (await sessions.get(id).resume(question)).ran,
  flush: ({ id }) => sessions.get(id).flush(),
  close: ({ id }) => sessions.get(id).close(),
}

process.on('message', async ({ number, step, given }) => {
  try {
    process.send({ number, value: await STEPS[step](given) })
  } catch (error) {
    process.send({ number, failed: `${error.name}: ${error.message}` })
  }
})
process.on('disconnect', () => process.exit())
process.send({ number: 0 })
