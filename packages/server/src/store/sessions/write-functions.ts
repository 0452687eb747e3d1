import type { Quota } from '@countersign/protocol'
import pg from 'pg'
import { databaseFunction } from '../../postgres/database-function.js'

// Writes of a session, all or nothing. Each is false where the session was written since it was read, and then has
// written nothing. What they write and why is told in `sql/functions`.

const SESSION = { tenant: 'text', session: 'text' } as const
const HEAD = { revision: 'text', lease_until: 'timestamptz', facts: 'text' } as const
const STATE = { state: 'text', recent: 'text' } as const
const GUARD = { known: 'text', key_hash: 'bytea', quota: 'text' } as const
const EVENT = {
  seq: 'bigint',
  type: 'text',
  at: 'timestamptz',
  body: 'text',
  prev_hash: 'text',
  hash: 'text',
} as const
const PREPARED = { prepared: 'text', narrowing: 'text', request: 'text', has_superseded: 'boolean' } as const
const EXTRAS = { extras: 'json' } as const

export const createSession = databaseFunction(
  'create_session',
  { ...SESSION, fixed: 'json', ...HEAD, ...STATE, ...EVENT, plan: 'json', token: 'json', ...EXTRAS },
  'boolean',
)

export const prepare = databaseFunction(
  'prepare',
  {
    ...SESSION,
    ...GUARD,
    ...HEAD,
    ...PREPARED,
    ...EXTRAS,
  },
  'boolean',
)

export const propose = databaseFunction(
  'propose',
  {
    ...SESSION,
    ...GUARD,
    ...HEAD,
    ...STATE,
    ...EVENT,
    request: 'text',
    with_tools: 'boolean',
    proposal: 'text',
    outcome: 'text',
    record: 'text',
    arguments: 'json',
    is_blocked: 'boolean',
    ...EXTRAS,
  },
  'boolean',
)

export const receive = databaseFunction(
  'receive_2',
  {
    ...SESSION,
    ...GUARD,
    ...HEAD,
    ...STATE,
    ...EVENT,
    pending_call: 'text',
    receipt: 'text',
    ...PREPARED,
    ...EXTRAS,
  },
  'boolean',
)

export const record = databaseFunction(
  'record',
  { ...SESSION, ...GUARD, ...HEAD, ...STATE, clears_prepared: 'boolean', ...EVENT, ...EXTRAS },
  'boolean',
)

/** What a write checks in place of a statement of its own that authenticates the key (decision 0005). */
export interface KeyProof {
  readonly keyHash: Buffer
  /** As it was when the key was last authenticated: a changed quota needs a new authentication. */
  readonly quota: Quota
}

/** A key `k` that is neither revoked nor expired. */
export const IN_FORCE = 'k.revoked_at is null and (k.expires_at is null or k.expires_at > clock_timestamp())'

/** The key is not valid any more, so that nothing was written. */
export const isKeyLost = (error: unknown): boolean => error instanceof pg.DatabaseError && error.code === 'CSKEY'
