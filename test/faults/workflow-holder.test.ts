import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Decision } from '@countersign/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PATIENCE_MS, rounds } from '../support/data/rounds.js'
import { checkWorkflow } from '../support/model/workflow-checker.js'
import { receiptFor, responseOf } from '../support/runtime/governed-session.js'
import { withRuntime } from '../support/runtime/with-runtime.js'
import {
  join,
  lookUp,
  offer,
  openWorkflow,
  PAYMENT_PLAN,
  PAYMENT_TOOLS,
  pay,
  settle,
} from '../support/runtime/workflow.js'

/** Calls that the tool was asked to run, by session. It goes on with them whatever becomes of who asked. */
const running = new Map<string, Decision>()
const tool = createServer(async (request) => {
  const { sessionId, decision } = (await json(request)) as { sessionId: string; decision: Decision }
  if (running.has(sessionId)) throw new Error('the tool was asked twice')
  running.set(sessionId, decision)
  tool.emit('runs')
})

let url: string
let toolUrl: string
const { runtime } = await withRuntime({ instances: 2 })
beforeAll(async () => {
  url = await runtime.instances[0].listen()
  await once(tool.listen(0, '127.0.0.1'), 'listening')
  toolUrl = `http://127.0.0.1:${(tool.address() as AddressInfo).port}`
})
afterAll(async () => {
  tool.close()
})

const PROGRAM = fileURLToPath(new URL('../support/runtime/workflow-holder.mjs', import.meta.url))
/** Rounds that share a process to be killed, and how many of them go on at once. */
const HOLDERS = 10
const AT_ONCE = 5

interface Handed {
  readonly root: Awaited<ReturnType<typeof openWorkflow>>
  readonly handoffId: string
  /** The session that answers the offer. */
  readonly sessionId: string
}

async function handOver(): Promise<Handed> {
  const root = await openWorkflow(runtime.api())
  const { handoff_id: handoffId } = await offer(root)
  return { root, handoffId, sessionId: `ses-${randomUUID()}` }
}

/** Payers in a process of their own, ended with -9 as soon as the tools of all of them run. */
async function killHolders(handed: readonly Handed[]): Promise<void> {
  const jobs = handed.map(({ root, handoffId, sessionId }) => {
    const prepared_request_id = randomUUID()
    const workflow = { workflow_id: root.workflowId, role: 'payer', handoff_id: handoffId }
    return {
      sessionId,
      create: { session_id: sessionId, holder_id: 'holder-of-its-own', ...PAYMENT_PLAN, workflow },
      preflight: { prepared_request_id, fence: 1, state_version: 0, tools: PAYMENT_TOOLS },
      propose: { prepared_request_id, fence: 1, response: responseOf([pay('7')]) },
    }
  })
  const child = spawn(process.execPath, [PROGRAM], { stdio: ['pipe', 'ignore', 'inherit'] })
  const exit = once(child, 'exit')
  child.stdin.end(JSON.stringify({ url, key: runtime.key, toolUrl, jobs }))
  while (child.exitCode === null && !handed.every(({ sessionId }) => running.has(sessionId))) {
    await Promise.race([once(tool, 'runs'), exit])
  }
  child.kill('SIGKILL')
  expect(await exit).toEqual([null, 'SIGKILL'])
}

async function reclaim({ root, handoffId, sessionId }: Handed): Promise<void> {
  const { workflowId } = root
  const decision = running.get(sessionId)
  if (decision === undefined) throw new Error('the tool does not run')
  const early = await settle('reclaimHandoff', root, { workflowId, handoffId })
  expect([early.status, early.problem.code]).toEqual([409, 'HANDOFF_NOT_ELIGIBLE'])
  await runtime.sql`update session_heads set revision = revision || ':lapsed', lease_until = clock_timestamp() where session_id = ${sessionId}`
  expect((await settle('reclaimHandoff', root, { workflowId, handoffId })).status).toBe(200)

  // The work goes to somebody else, who must not touch what the first may still be changing.
  const { handoff_id: second } = await offer(root)
  const successor = await join(runtime.api(runtime.key, runtime.instances[1]), { workflowId, handoffId: second })
  const [paying, looking] = await Promise.all([successor.decide([pay('7')]), root.decide([lookUp('7')])])
  for (const { outcome, decisions } of [paying, looking]) {
    expect([outcome, decisions[0]?.reasons[0]?.detail]).toEqual(['blocked', 'resource_conflict'])
  }

  // The tool's last word comes late, and frees it.
  const params = { session_id: sessionId }
  const receipts = [receiptFor(decision)]
  expect((await runtime.api().submitReceipts({ params, body: { fence: 1, receipts } })).status).toBe(200)
  expect((await successor.decide([pay('7')])).outcome).toBe('allowed')
}

test(
  'a holder killed with -9: its handoff is reclaimed while its tool still runs, and what that holds stays held',
  async () => {
    for (let done = 0; done < rounds(20, 500); done += HOLDERS) {
      const handed = await Promise.all(Array.from({ length: HOLDERS }, handOver))
      await killHolders(handed)
      for (let first = 0; first < HOLDERS; first += AT_ONCE) {
        await Promise.all(handed.slice(first, first + AT_ONCE).map(reclaim))
      }
      for (const { root } of handed.slice(0, 2)) expect(await checkWorkflow(runtime, root.workflowId)).toEqual([])
    }
  },
  PATIENCE_MS,
)
