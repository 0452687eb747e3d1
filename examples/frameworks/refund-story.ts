import assert from 'node:assert/strict'
import { calls, type ScriptedModel, says, scriptedModel } from '../scripted-model.js'

/** The model of these examples: it looks an order up, asks for more than was paid, and is told; then for what was. */
export async function refundModel(): Promise<ScriptedModel> {
  const model = await scriptedModel()
  model.say(
    calls('find_order', { order_id: 'A-1' }),
    calls('issue_refund', { order_id: 'A-1', amount: 400 }),
    calls('issue_refund', { order_id: 'A-1', amount: 40 }),
    says('I refunded 40.'),
  )
  return model
}

export const PROMPT = 'Order A-1 arrived broken. I want 400 back.'

/** What a model may be offered, as it stands in its requests: before the order was found, no refund. */
export function checkRequests(model: ScriptedModel): void {
  const requests = model.requests()
  assert.equal([requests[0]?.tools].flat().length, 1)
  assert.equal([requests[1]?.tools].flat().length, 2)
  assert.match(JSON.stringify(requests[2]), /was blocked \(envelope_violation\)/)
}
