import type { Steps } from '@countersign/engine'
import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import type { Context } from './context.js'
import { inTurnsIfLong } from './work.js'

function* steps(): Steps<string> {
  yield
  return 'in turns'
}

proves(
  'limit.fair.definitions',
  'what a long body brought is worked on in turns, and that of a short one at once',
  async () => {
    const done = (bodyBytes: number) => {
      const ctx = { tenant: { tenantId: 't' }, request: { http: { bodyBytes } } } as Context
      return inTurnsIfLong(ctx, steps(), () => 'at once')
    }
    expect(await done(32_768)).toBe('at once')
    expect(await done(32_769)).toBe('in turns')
  },
)
