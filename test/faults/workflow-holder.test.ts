import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Decision } from '@countersign/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { receiptFor, responseOf } from '../support/governed-session.js'
import { PATIENCE_MS, rounds } from '../support/rounds.js'
import { type Runtime, startRuntime } from '../support/runtime.js'
import { join, lookUp, offer, openWorkflow, PAYMENT_PLAN, PAYMENT_TOOLS, pay, settle } from '../support/workflow.js'
import { checkWorkflow } from '../support/workflow-checker.js'

let runtime: Runtime
let url: string
beforeAll(async () => {
  runtime = await startRuntime({ instances: 2 })
  url = await runtime.instances[0].listen()
})
afterAll(() => runtime.close())

const PROGRAM = fileURLToPath(new URL('../support/workflow-holder.mjs', import.meta.url))

/** A payer in a process of its own whose tool is running. */
async function startHolder(workflowId: string, handoffId: string) {
  const sessionId = `ses-${randomUUID()}`
  const prepared_request_id = randomUUID()
  const job = {
    url,
    key: runtime.key,
    sessionId,
    create: {
      session_id: sessionId,
      holder_id: 'holder-of-its-own',
      ...PAYMENT_PLAN,
      workflow: { workflow_id: workflowId, role: 'payer', handoff_id: handoffId },
    },
    preflight: { prepared_request_id, fence: 1, state_version: 0, tools: PAYMENT_TOOLS },
    propose: { prepared_request_id, fence: 1, response: responseOf([pay('7')]) },
  }
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(job)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(createInterface(child.stdout), 'line')
  return { sessionId, decisions: JSON.parse(line) as Decision[], child }
}

test(
  'a holder killed with -9: its handoff is reclaimed while its tool still runs, and what that holds stays held',
  async () => {
    for (let round = 0; round < rounds(10, 500); round++) {
      const root = await openWorkflow(runtime.api())
      const { workflowId } = root
      const { handoff_id: handoffId } = await offer(root)
      const holder = await startHolder(workflowId, handoffId)
      holder.child.kill('SIGKILL')
      await once(holder.child, 'exit')

      const early = await settle('reclaimHandoff', root, { workflowId, handoffId })
      expect([early.status, early.problem.code]).toEqual([409, 'HANDOFF_NOT_ELIGIBLE'])
      await runtime.sql`update sessions set lease_until = clock_timestamp() where session_id = ${holder.sessionId}`
      expect((await settle('reclaimHandoff', root, { workflowId, handoffId })).status).toBe(200)

      // The work goes to somebody else, who must not touch what the first may still be changing.
      const { handoff_id: second } = await offer(root)
      const successor = await join(runtime.api(runtime.key, runtime.instances[1]), { workflowId, handoffId: second })
      const [paying, looking] = await Promise.all([successor.decide([pay('7')]), root.decide([lookUp('7')])])
      for (const { outcome, decisions } of [paying, looking]) {
        expect([outcome, decisions[0]?.reasons[0]?.detail]).toEqual(['blocked', 'resource_conflict'])
      }

      // The tool's last word comes late, and frees it.
      const [decision] = holder.decisions
      if (decision === undefined) throw new Error('the holder had no call')
      const params = { session_id: holder.sessionId }
      const receipts = [receiptFor(decision)]
      const received = await runtime.api().submitReceipts({ params, body: { fence: 1, receipts } })
      expect(received.status).toBe(200)
      expect((await successor.decide([pay('7')])).outcome).toBe('allowed')
      if (round % 5 === 0) expect(await checkWorkflow(runtime, workflowId)).toEqual([])
    }
  },
  PATIENCE_MS,
)
