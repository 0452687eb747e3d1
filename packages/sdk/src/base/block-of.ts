import { type EnforcementDecision, ReplayContractError, ReplayParkedError } from './errors.js'
import { isObject, type JsonObject } from './json-object.js'

/** Errors wrap each other a few times, not hundreds. */
const MOST_LOOKED_AT = 50

/**
 * The block behind an error, however it was wrapped: by the `.stream()` helpers of a client, by a framework, or by a
 * client that got it as an answer of `session.fetch`. Outages and refusals of the server are blocks, too. Null for other errors.
 */
export function blockOf(error: unknown): ReplayContractError | null {
  const seen = new Set<unknown>()
  const waiting: unknown[] = [error]
  while (waiting.length > 0 && seen.size < MOST_LOOKED_AT) {
    const found = waiting.shift()
    if (found instanceof ReplayContractError) return found
    if (!isObject(found) || seen.has(found)) continue
    seen.add(found)
    const decision = decisionIn(found)
    if (decision !== null) return blockedBy(messageIn(found, error), decision, found, error)
    waiting.push(...behind(found))
  }
  return null
}

function blockedBy(
  message: string,
  decision: EnforcementDecision,
  { questions }: JsonObject,
  cause: unknown,
): ReplayContractError {
  if (!Array.isArray(questions)) return new ReplayContractError(message, decision, { cause })
  return new ReplayParkedError(message, decision, questions, { cause })
}

/** Where clients and frameworks put what an error came from. */
function behind(found: JsonObject): unknown[] {
  const { cause, error, errors, lastError, data, responseBody } = found
  const written = typeof responseBody === 'string' ? [parsed(responseBody)] : []
  return [cause, error, ...(Array.isArray(errors) ? errors : []), lastError, data, ...written]
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** What `session.fetch` says in the body of a refusal. */
function decisionIn({ code, countersign }: JsonObject): EnforcementDecision | null {
  if (typeof code !== 'string' || !code.startsWith('countersign_') || !isObject(countersign)) return null
  const { outcome, decisions, blocked } = countersign
  if (outcome !== 'blocked' && outcome !== 'partial') return null
  return Array.isArray(decisions) && Array.isArray(blocked) ? { outcome, decisions, blocked } : null
}

function messageIn(found: JsonObject, error: unknown): string {
  if (typeof found.message === 'string') return found.message
  return error instanceof Error ? error.message : 'a call was blocked'
}
