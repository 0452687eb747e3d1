import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join as joinPath } from 'node:path'
import type { WorkflowLedgerExport } from '@countersign/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { verify } from '../../../packages/cli/src/commands/verify.js'
import { openSession } from '../../support/runtime/governed-session.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'
import { join, offer, openWorkflow, pay, settle } from '../../support/runtime/workflow.js'

let folder: string
let online: string[]
const { runtime } = await withRuntime()
beforeAll(async () => {
  folder = await mkdtemp(joinPath(tmpdir(), 'countersign-workflow-ledger-'))
  online = ['--url', await runtime.instances[0].listen(), '--key', runtime.key]
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

/** A handoff that is taken up, worked on, and completed; then the workflow is killed. Nine events. */
async function finishedWorkflow(): Promise<string> {
  const root = await openWorkflow(runtime.api())
  const { workflowId } = root
  const { handoff_id: handoffId } = await offer(root, { tools: ['pay'] })
  const child = await join(runtime.api(), { workflowId, handoffId })
  await child.turn([pay('7')])
  await settle('completeHandoff', child, { workflowId, handoffId })
  await runtime.api().killWorkflow({ params: { workflow_id: workflowId }, body: {} })
  return workflowId
}

async function run(...args: string[]): Promise<{ code: number; said: string }> {
  const said: string[] = []
  const code = await verify.run(args, { print: (line) => said.push(line), note: () => {} })
  return { code, said: said.join('\n') }
}

async function savedExport(workflowId: string): Promise<{ file: string; exported: WorkflowLedgerExport }> {
  const file = joinPath(folder, `${workflowId}.json`)
  await run('--workflow', workflowId, ...online, '--save', file)
  return { file, exported: JSON.parse(await readFile(file, 'utf8')) as WorkflowLedgerExport }
}

test('a workflow is read from the service, holds, and is saved; the file holds without the service', async () => {
  const workflowId = await finishedWorkflow()
  const file = joinPath(folder, 'saved.json')
  const says = expect.stringMatching(
    new RegExp(
      `^${workflowId}: 9 events are intact; head 9:[0-9a-f]{64}\nnot signed: no head of this ledger was signed yet`,
    ),
  )
  expect(await run('--workflow', workflowId, ...online, '--save', file)).toEqual({ code: 0, said: says })
  expect(await run(file)).toEqual({ code: 0, said: says })
})

test('a head that was recorded earlier lies in the chain; a ledger that was cut short of it or forged before it does not pass', async () => {
  const { file, exported } = await savedExport(await finishedWorkflow())
  const early = exported.events[3]
  expect(await run(file, '--head', `4:${early?.hash}`)).toMatchObject({ code: 0 })
  expect(await run(file, '--head', `4:${'f'.repeat(64)}`)).toMatchObject({ code: 1 })
  expect(await run(file, '--head', `12:${'f'.repeat(64)}`)).toEqual({
    code: 1,
    said: expect.stringContaining('broken at event 10:'),
  })
})

const FORGERIES: Record<string, { seq: number; forge: (exported: WorkflowLedgerExport) => unknown }> = {
  'the tools of an offer are changed': {
    seq: 3,
    forge: ({ events }) => Object.assign(events[2]!.body, { tools: ['pay', 'look_up'] }),
  },
  'labels of a completed handoff are taken out': {
    seq: 8,
    forge: ({ events }) => Object.assign(events[7]!.body, { labels: [] }),
  },
  'an event is left out': { seq: 6, forge: ({ events }) => events.splice(5, 1) },
  'the kill is cut off': { seq: 9, forge: ({ events }) => events.pop() },
  'the type is none that there is': { seq: 5, forge: ({ events }) => Object.assign(events[4]!, { type: 'taken' }) },
  'it is named after another workflow': { seq: 1, forge: (exported) => Object.assign(exported, { workflow_id: 'w' }) },
}
test.each(Object.entries(FORGERIES))('%s: the first broken event is named', async (_name, { seq, forge }) => {
  const { file, exported } = await savedExport(await finishedWorkflow())
  forge(exported)
  await writeFile(file, JSON.stringify(exported))
  expect(await run(file)).toEqual({ code: 1, said: expect.stringContaining(`broken at event ${seq}:`) })
})

test('a changed, a removed and a cut row in the database are found by the online check', async () => {
  const [changed, removed, cut] = await Promise.all([finishedWorkflow(), finishedWorkflow(), finishedWorkflow()])
  await runtime.sql`
    update workflow_events set body = jsonb_set(body::jsonb, '{labels}', '[]')::json
    where workflow_id = ${changed} and seq = 8`
  await runtime.sql`delete from workflow_events where workflow_id = ${removed} and seq = 6`
  await runtime.sql`delete from workflow_events where workflow_id = ${cut} and seq > 7`
  for (const [workflowId, seq] of [[changed, 8] as const, [removed, 6] as const, [cut, 8] as const]) {
    expect(await run('--workflow', workflowId, ...online)).toEqual({
      code: 1,
      said: expect.stringContaining(`broken at event ${seq}:`),
    })
  }
})

test('what cannot be read is no verdict: an unknown workflow, no service, no file, a file that is something else', async () => {
  const { sessionId } = await openSession(runtime.api())
  await expect(run('--workflow', sessionId, ...online)).rejects.toThrow(/answered 404/)
  await expect(run('--workflow', 'w', '--url', 'http://127.0.0.1:9', '--key', 'k')).rejects.toThrow(/cannot be reached/)
  await expect(run(joinPath(folder, 'nowhere.json'))).rejects.toThrow(/cannot be read: the file does not exist/)
  const file = joinPath(folder, 'other.json')
  await writeFile(file, '{"workflow_id":"w"}')
  await expect(run(file)).rejects.toThrow(/not an exported ledger/)
  await writeFile(file, '{')
  await expect(run(file)).rejects.toThrow(/it is not JSON/)
  await expect(run('--workflow', file)).rejects.toThrow(/--workflow needs --url or --key/)
})
