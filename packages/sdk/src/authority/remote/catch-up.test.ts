import type { Outcome, PendingCallView } from '@countersign/protocol'
import { expect } from 'vitest'
import { proves } from '../../../../../test/support/proves.js'
import type { Diagnostic } from '../../base/diagnostics.js'
import type { CallInDoubt } from '../../options/replay-options.js'
import { askAboutDoubt } from './catch-up.js'

const pending = (call_id: string, checkpoint_required: boolean) =>
  ({ call_id, tool_name: 'pay', argument_hash: 'h', pending_call_id: call_id, checkpoint_required }) as PendingCallView

proves('option.on-in-doubt.asked', 'onInDoubt hears whether a person had to approve the call', async () => {
  const told: [string, boolean][] = []
  const onInDoubt = ({ callId, asked }: CallInDoubt): Outcome => {
    told.push([callId, asked])
    return asked ? 'not_executed' : 'unknown'
  }
  const receipts = await askAboutDoubt(onInDoubt, () => {})([pending('large', true), pending('small', false)])
  expect(told).toEqual([
    ['large', true],
    ['small', false],
  ])
  expect(receipts.map(({ outcome }) => outcome)).toEqual(['not_executed', 'unknown'])
})

proves(
  'option.on-in-doubt.asked',
  'an answer that is no outcome counts as unknown, and the four are named',
  async () => {
    const reported: Diagnostic[] = []
    const wrong = (() => ({ outcome: 'succeeded' })) as unknown as () => Outcome
    const [receipt] = await askAboutDoubt(wrong, (event) => void reported.push(event))([pending('a', false)])
    expect(receipt?.outcome).toBe('unknown')
    expect(reported).toEqual([
      {
        type: 'callback_error',
        callback: 'onInDoubt',
        detail: "it must return one of 'succeeded', 'failed', 'not_executed', 'unknown'; the call counts as 'unknown'",
      },
    ])
  },
)
