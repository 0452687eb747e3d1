import { hash } from 'node:crypto'
import type { JsonValue } from '@countersign/protocol'
import { spendOnJudging } from '../text/judging-budget.js'
import type { Steps } from '../text/steps.js'
import { canonicalBytes } from './canonical-json.js'
import { canonicalJsonInSteps } from './write-in-steps.js'

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
  const text = yield* canonicalJsonInSteps(value)
  yield
  return sha256Hex(`${salt.length}:${salt}:${text}`)
}

const STEPS_OF_HASH = 16
/** As a power of two. */
const BYTES_PER_STEP = 4
