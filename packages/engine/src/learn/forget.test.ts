import { expect, test } from 'vitest'
import { flowOf } from '../flows/flows.js'
import { newTrail } from '../flows/trail.js'
import { forgetCall } from './forget.js'
import { addCall, newSummary, type ToolSummary } from './summary.js'

const call = (session: string, given: Record<string, unknown>) => {
  const flow = flowOf(newTrail(), { id: '', tool: 'send', arguments: given })
  return { session, tool: 'send', arguments: given, flow }
}
const learned = (...calls: ReturnType<typeof call>[]): ToolSummary => {
  const summary = newSummary('send')
  for (const one of calls) addCall(summary, one, 'salt')
  return summary
}
const ann = call('ann', {
  to: { jane: 'the secret of the house' },
  list: ['only-hers', 'shared'],
  account: 12345678,
  kind: 'plain',
})
const bob = call('bob', { to: 'bob', list: ['shared'], kind: 'plain' })

test('takes out what only the forgotten call held, keys and values alike', () => {
  const summary = learned(ann, bob)
  expect(JSON.stringify(summary)).toMatch(/jane.*12345678|12345678.*jane/)
  forgetCall(summary, ann)
  expect(JSON.stringify(summary)).not.toMatch(/jane|secret|only-hers|12345678|account/)
  const of = ({ shape }: ToolSummary) => ({ types: shape.types, kinds: shape.kinds, fields: shape.fields })
  expect(of(summary)).toMatchObject({ types: { object: 1 }, fields: { full: false } })
  expect(summary.shape.fields.entries.map(([name]) => name).sort()).toEqual(['kind', 'list', 'to'])
  expect(JSON.stringify(summary.shape.fields)).toContain('shared')
})

test('keeps how often the tool was seen, and tolerates what a call never added', () => {
  const summary = learned(bob)
  forgetCall(summary, ann)
  expect(summary.samples).toBe(1)
  forgetCall(summary, bob)
  forgetCall(summary, bob)
  expect(JSON.stringify(summary)).not.toMatch(/bob|plain|shared/)
  expect(summary.samples).toBe(1)
})
