import { describe, expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { createLog } from '../base/log.js'
import { TaskFailed } from '../base/work/thread-pool.js'
import { failed } from './isolation.js'

describe('a request whose thread ended', () => {
  const log = createLog({ level: 'info', write: () => {} })
  for (const [over, hasWritten, code] of [
    ['time', false, 'TOO_COSTLY'],
    ['memory', false, 'TOO_COSTLY'],
    [null, false, 'INTERNAL'],
    ['time', true, 'UNAVAILABLE'],
    ['memory', true, 'UNAVAILABLE'],
    [null, true, 'UNAVAILABLE'],
  ] as const) {
    const what = over === null ? 'broke' : `took too much ${over}`
    const about = hasWritten ? 'isolation.written' : 'isolation.deadline'
    proves(about, `${what} ${hasWritten ? 'after' : 'before'} it began to write: ${code}`, () => {
      const error = failed(new TaskFailed('answer', 'it took longer than 1.5 seconds', over, hasWritten), log)
      expect(error.code).toBe(code)
      expect(error.headers).toEqual(hasWritten ? { 'retry-after': '1' } : {})
      if (code === 'TOO_COSTLY') expect(error.extras).toEqual({ detail: 'it took longer than 1.5 seconds' })
    })
  }
})
