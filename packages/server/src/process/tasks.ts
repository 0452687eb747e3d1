import { forgetBatch } from '../captures/forget-batch.js'
import { learnBatch, learnedTools } from '../captures/learn-batch.js'
import type { Tasks, TaskThread } from '../context/tasks.js'
import { judgePage, reportRun } from '../runs/judge-page.js'

/** What jobs compute, each with all it needs in its input. */
export const TASKS: { readonly [Name in keyof Tasks]: (input: Tasks[Name]['input']) => Output<Name> } = {
  learnedTools,
  learnBatch,
  forgetBatch,
  judgePage,
  reportRun,
}

type Output<Name extends keyof Tasks> = Tasks[Name]['output'] | Promise<Tasks[Name]['output']>

/** For a thread that may take its time itself. */
export const tasksHere: TaskThread = {
  run: async (_, name, input) => TASKS[name](input),
  warm: () => {},
  close: async () => {},
}
