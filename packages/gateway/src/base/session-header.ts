import { GatewayProblem } from './problems.js'

/** By which a client or a host names its session, and learns it. */
export const SESSION_HEADER = 'x-countersign-session'

/** The session that a request names; null where it names none. */
export function namedSession(headers: Headers): string | null {
  const named = headers.get(SESSION_HEADER)
  if (named === null || /^[A-Za-z0-9_.:-]{1,128}$/.test(named)) return named
  throw new GatewayProblem(
    'session_invalid',
    `the header ${SESSION_HEADER} must be 1 to 128 of A-Z a-z 0-9 _ . : -, as the answer before gave it`,
  )
}
