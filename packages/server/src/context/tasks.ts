import type { Outcome } from '@countersign/protocol'
import { createWorkerThread, type ThreadLimits, type WorkerThread } from '../base/worker-thread.js'
import type { LearnedToolChange } from '../store/captures/learned-tools.js'

/**
 * What is computed in the worker thread (decision 0015). Large things travel as JSON text: this process hands it from the
 * database to the thread and back, and never parses it.
 */
export type Tasks = {
  /** Which of a batch's captures can be learned at once, counted from the first, and the tools that they tell of. */
  learnedTools: { input: readonly string[]; output: { captures: number; tools: string[] } }
  learnBatch: { input: BatchToLearn; output: LearnedToolChange[] }
}

export type TaskThread = WorkerThread<Tasks>

/** The program of the thread, as it was built: also where tests run this file from its source. */
const PROGRAM = new URL(import.meta.url.endsWith('.ts') ? '../../dist/worker.js' : '../worker.js', import.meta.url)

/** The thread of a process. It starts with the first task. */
export const createTaskThread = (limits?: ThreadLimits): TaskThread => createWorkerThread<Tasks>(PROGRAM, limits)

export interface BatchToLearn {
  readonly captures: readonly CaptureToLearn[]
  readonly salt: string
  /** The summaries of the tools as they are stored. */
  readonly summaries: readonly string[]
  /** The longest that a summary may be, in characters. */
  readonly summarySize: number
}

export interface CaptureToLearn {
  /** A stored capture. */
  readonly item: string
  /** Calls that have a receipt, by their id. Null where outcomes are unknown. */
  readonly outcomes: readonly (readonly [callId: string, outcome: Outcome])[] | null
}
