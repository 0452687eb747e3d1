import type { BodyReaders, Handlers } from '../context/context.js'
import { createRun } from './create-run.js'
import { listRuns } from './list-runs.js'
import { loadRun } from './load-run.js'
import { readRun } from './read-run.js'
import { startRun } from './start-run.js'

/** Backtests; a person reads one back as a program does. */
export const runHandlers = {
  createRun,
  loadRun,
  listRuns,
  startRun,
  loadRunDetail: loadRun,
} satisfies Partial<Handlers>

export const runReaders = { createRun: readRun } satisfies Partial<BodyReaders>
