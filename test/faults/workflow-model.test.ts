import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PATIENCE_MS, rounds, testSeed } from '../support/data/rounds.js'
import { checkWorkflow } from '../support/model/workflow-checker.js'
import { COMMAND_NAMES, type Command, WorkflowModel } from '../support/model/workflow-model.js'
import { withRuntime } from '../support/runtime/with-runtime.js'

const { runtime } = await withRuntime({ instances: 2 })

const COMMANDS_A_RUN = 50

const command: fc.Arbitrary<Command> = fc.record({
  // Turns and moves are what makes things happen; stops end them.
  kind: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom<Command['kind']>('propose', 'receipt', 'offer', 'accept') },
    { weight: 2, arbitrary: fc.constantFrom(...COMMAND_NAMES) },
  ),
  pick: fc.nat({ max: 11 }),
  how: fc.nat({ max: 23 }),
  instance: fc.constantFrom(0 as const, 1 as const),
})

test(
  'whatever sessions of a workflow do, through two servers, it comes out as the model says, and the ledgers hold',
  async () => {
    const run = fc.array(command, { minLength: COMMANDS_A_RUN, maxLength: COMMANDS_A_RUN })
    const seed = testSeed()
    await fc.assert(
      fc.asyncProperty(run, async (commands) => {
        const model = await WorkflowModel.open(runtime)
        for (const one of commands) {
          const wrong = await model.run(one)
          if (wrong !== null) throw new Error(wrong)
        }
        expect(await shown(model)).toEqual(model.expected())
        expect(await checkWorkflow(runtime, model.workflowId)).toEqual([])
      }),
      // Shrinking would send thousands of requests: the seed and the path that are printed repeat the run.
      { seed, numRuns: rounds(300, 10_000) / COMMANDS_A_RUN, endOnFailure: true },
    )
  },
  PATIENCE_MS,
)

async function shown(model: WorkflowModel): Promise<ReturnType<WorkflowModel['expected']>> {
  const { body } = await model.api.loadWorkflow({ params: { workflow_id: model.workflowId } })
  return {
    status: body.status,
    sessions: body.sessions.map(({ session_id, status, labels, tools }) => ({
      session_id,
      status,
      labels: [...labels].sort(),
      tools: [...(tools ?? [])].sort(),
    })),
    handoffs: body.handoffs.map(({ handoff_id, state, to_session }) => ({ handoff_id, state, to_session })),
    resources: body.resources.map(({ session_id, key }) => `${session_id} ${key}`).sort(),
  }
}

test(
  'many clients at once: nobody waits for ever, nobody gets a 5xx, and the ledgers hold',
  async () => {
    const seed = testSeed()
    for (let round = 0; round < rounds(3, 100); round++) {
      const model = await WorkflowModel.open(runtime)
      const { workflowId } = model
      // What comes back depends on who was first, so only the rules that hold in every order are checked.
      const troubles: string[] = []
      const client = async (commands: readonly Command[]) => {
        for (const one of commands) {
          const answer = await model.run(one).catch((error: unknown) => String(error))
          if (/\b5\d\d\b|TypeError/.test(answer ?? '')) troubles.push(answer ?? '')
        }
      }
      const clients = Array.from({ length: 6 }, (_, index) =>
        fc.sample(command, { numRuns: 20, seed: seed + 6 * round + index }),
      )
      await Promise.all(clients.map(client))
      await model.api.killWorkflow({ params: { workflow_id: workflowId }, body: {} })
      expect(troubles).toEqual([])
      expect(await checkWorkflow(runtime, workflowId)).toEqual([])
    }
  },
  PATIENCE_MS,
)
