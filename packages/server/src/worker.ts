import { parentPort } from 'node:worker_threads'
import { ApiError } from './base/api-error.js'
import { giveWay } from './base/work/give-way.js'
import { READY, type TaskReply } from './base/work/one-thread.js'
import { forgetBatch } from './captures/forget-batch.js'
import { learnBatch, learnedTools } from './captures/learn-batch.js'
import { readCaptures } from './captures/read-captures.js'
import type { Tasks } from './context/tasks.js'
import { draftTools } from './governance/draft-tools.js'
import { comparePlans } from './packs/compare-plans.js'
import { compilePack } from './packs/compile-pack.js'
import { describePack } from './packs/describe-pack.js'
import { findDrift } from './packs/find-drift.js'
import { judgePlayground } from './packs/judge-playground.js'
import { judgeFixtures, judgePage, reportRun } from './runs/judge-page.js'
import { readRun } from './runs/read-run.js'

/** The program of the worker thread: one task at a time, each with all it needs in its input. */
const TASKS: { readonly [Name in keyof Tasks]: (input: Tasks[Name]['input']) => Output<Name> } = {
  readCaptures,
  readRun,
  learnedTools,
  learnBatch,
  draftTools,
  forgetBatch,
  judgePage,
  reportRun,
  judgeFixtures,
  compilePack,
  comparePlans,
  describePack,
  findDrift,
  judgePlayground,
}

type Output<Name extends keyof Tasks> = Tasks[Name]['output'] | Promise<Tasks[Name]['output']>

giveWay()

parentPort?.on('message', async ({ name, input }: { name: keyof Tasks; input: never }) => {
  parentPort?.postMessage(await replyTo(name, input))
})

parentPort?.postMessage(READY)

async function replyTo(name: keyof Tasks, input: never): Promise<TaskReply> {
  try {
    return { ok: true, output: await TASKS[name](input) }
  } catch (error) {
    if (error instanceof ApiError) return { ok: false, refusal: { code: error.code, extras: error.extras } }
    return { ok: false, error: error instanceof Error ? error.message : String(error) }
  }
}
