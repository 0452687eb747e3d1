import { AsyncLocalStorage } from 'node:async_hooks'
import type { OpenCalls } from './open-calls.js'

/** A tool while it runs. */
export interface RunningTool {
  /** Runs its executor, so that a turn which that begins is recognised. */
  run<Result>(work: () => Result): Result
  /** The tool is no longer waited for. */
  end(): void
}

interface Tool {
  readonly openCalls: OpenCalls
  /** The tool inside of which this one runs: that of another session. */
  readonly outer: Tool | undefined
  isRunning: boolean
}

/**
 * One for all sessions, and off while no tool runs: Node 20 asks each storage that is on about every promise of the
 * program, also those of sessions that have ended.
 */
const storage = new AsyncLocalStorage<Tool>()
let running = 0

/** A tool of the session with these calls starts to run. */
export function startTool(openCalls: OpenCalls): RunningTool {
  const tool: Tool = { openCalls, outer: storage.getStore(), isRunning: true }
  running += 1
  return {
    run: (work) => storage.run(tool, work),
    end() {
      if (!tool.isRunning) return
      tool.isRunning = false
      running -= 1
      // Workers have no such method, and no need of it.
      if (running === 0) storage.disable?.()
    },
  }
}

/** Whether this code runs inside of a tool of the session with these calls. */
export function isInsideTool(openCalls: OpenCalls): boolean {
  for (let tool = storage.getStore(); tool !== undefined; tool = tool.outer) {
    if (tool.isRunning && tool.openCalls === openCalls) return true
  }
  return false
}
