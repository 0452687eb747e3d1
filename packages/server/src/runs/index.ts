import type { BodyReaders, Handlers } from '../context/context.js'
import { createRun, readRunBody } from './create-run.js'
import { listRuns } from './list-runs.js'
import { loadRun } from './load-run.js'
import { startRun } from './start-run.js'

/** Backtests; a person reads one back as a program does. */
export const runHandlers = {
  createRun,
  loadRun,
  listRuns,
  startRun,
  loadRunDetail: loadRun,
} satisfies Partial<Handlers>

export const runReaders = { createRun: readRunBody } satisfies Partial<BodyReaders>
