import { createHash, hash } from 'node:crypto'
import type { JsonValue } from '@countersign/protocol'
import { spendOnJudging } from '../text/judging-budget.js'
import type { Steps } from '../text/steps.js'
import { canonicalBytes } from './canonical-json.js'
import { canonicalPartsInSteps } from './write-in-steps.js'

/** SHA-256 of text, in hex. */
export function sha256Hex(text: string): string {
  return hash('sha256', text, 'hex')
}

/** SHA-256 over the canonical JSON of a value, in hex. */
export function hashValue(value: JsonValue): string {
  return hash('sha256', canonicalBytes('', value), 'hex')
}

/** Salted, because the plain hash of a small value can be looked up. The length separates salt and value. */
export function saltedHash(salt: string, value: JsonValue): string {
  const bytes = canonicalBytes(`${salt.length}:${salt}:`, value)
  spendOnJudging(STEPS_OF_HASH + (bytes.length >> BYTES_PER_STEP))
  return hash('sha256', bytes, 'hex')
}

/** The same for a large value, with other work in between. It takes no steps of a budget. */
export function* saltedHashInSteps(salt: string, value: JsonValue): Steps<string> {
  return yield* hashInSteps(`${salt.length}:${salt}:`, value)
}

/** `hashValue` for a large value, with other work in between. */
export const hashValueInSteps = (value: JsonValue): Steps<string> => hashInSteps('', value)

function* hashInSteps(prefix: string, value: JsonValue): Steps<string> {
  const whole = createHash('sha256').update(prefix)
  yield* canonicalPartsInSteps(value, (part) => whole.update(part))
  return whole.digest('hex')
}

const STEPS_OF_HASH = 16
/** As a power of two. */
const BYTES_PER_STEP = 4
