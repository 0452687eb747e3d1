import type { Steps } from '@countersign/engine'
import { expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { processorMs } from '../base/work/processor-time.js'
import { tryPlan, withinMsEach } from './try-plan.js'

function* working(...ms: readonly number[]): Steps<string> {
  for (const each of ms) {
    const until = processorMs() + each
    while (processorMs() < until) {
      // Works.
    }
    yield
  }
  return 'done'
}

proves(
  'limit.fair.tried-plans',
  'steps that take long together are done, and one of more than 250 ms is the last',
  () => {
    expect(withinMsEach(working(150, 210, 150))).toBe('done')
    expect(withinMsEach(working(1, 255, 1))).toBeNull()
  },
)

test.runIf(process.platform === 'linux')('a step that waits for a processor takes none of its time', () => {
  function* waiting(): Steps<string> {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
    yield
    return 'done'
  }
  expect(withinMsEach(waiting(), 100)).toBe('done')
})

test('a plan can be used, or the thread says why not', async () => {
  const plan = { plan_version: 1, session: {}, contracts: [] }
  expect(await tryPlan(JSON.stringify(plan))).toBeNull()
  const wrong = { ...plan, session: { policy: { cedar: 'permit(' } } }
  const refused = await tryPlan(JSON.stringify(wrong))
  expect(refused).toMatchObject({ ok: false, problems: [expect.stringContaining('the policy cannot be used')] })
})
