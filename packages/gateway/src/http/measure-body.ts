import { setImmediate as nextRound } from 'node:timers/promises'
import { type JsonMeasure, measureJson, runToEnd } from '@countersign/engine'
import { LIMITS } from '@countersign/protocol'
import { GatewayProblem } from '../base/problems.js'

/** Takes less than a millisecond. */
const AT_ONCE_BYTES = 64 * 1024

/** What a body is once it is parsed, counted in pieces between the requests of others. Refuses one that is too much. */
export async function measureBody(body: Uint8Array): Promise<JsonMeasure> {
  const steps = measureJson(body)
  const measure = body.length <= AT_ONCE_BYTES ? runToEnd(steps) : await inPieces(steps)
  const { values, names, depth } = measure
  if (depth > LIMITS.jsonDepth) {
    throw new GatewayProblem('body_depth', `the body is nested more than ${LIMITS.jsonDepth} levels deep: flatten it`)
  }
  if (values > LIMITS.bodyValues) throw tooMany(`${LIMITS.bodyValues} values`)
  if (names > LIMITS.bodyNames) throw tooMany(`${LIMITS.bodyNames} different names of members`)
  return measure
}

async function inPieces(steps: ReturnType<typeof measureJson>): Promise<JsonMeasure> {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value
    await nextRound()
  }
}

const tooMany = (what: string): GatewayProblem =>
  new GatewayProblem('body_values', `the body has more than ${what}: send less of the conversation, or longer texts`)
