import { randomBytes } from 'node:crypto'
import { createLog } from '../../packages/server/src/base/log.js'
import type { Learner } from '../../packages/server/src/captures/learn-captures.js'
import { createTaskThread } from '../../packages/server/src/context/tasks.js'

/** What learning needs beside a database. */
export const createLearner = (): Omit<Learner, 'database'> => ({
  thread: createTaskThread(),
  log: createLog({ level: 'warn' }),
  random: randomBytes,
})
