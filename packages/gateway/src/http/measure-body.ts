import { LIMITS } from '@countersign/protocol'
import { GatewayProblem } from '../base/problems.js'
import { type JsonMeasure, measureJson } from './measure-json.js'

/** What a body is once it is parsed. Refuses one that is too much. */
export function measureBody(body: Uint8Array): JsonMeasure {
  const measure = measureJson(body)
  const { values, names, depth } = measure
  if (depth > LIMITS.jsonDepth) {
    throw new GatewayProblem('body_depth', `the body is nested more than ${LIMITS.jsonDepth} levels deep: flatten it`)
  }
  if (values > LIMITS.bodyValues) throw tooMany(`${LIMITS.bodyValues} values`)
  if (names > LIMITS.bodyNames) throw tooMany(`${LIMITS.bodyNames} different names of members`)
  return measure
}

const tooMany = (what: string): GatewayProblem =>
  new GatewayProblem('body_values', `the body has more than ${what}: send less of the conversation, or longer texts`)
