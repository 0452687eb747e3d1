import type { Quota } from '@countersign/protocol'
import type { SessionRow } from './sessions.js'

/** What a write shows in place of a statement of its own that recognises the key. */
export interface KeyProof {
  readonly keyHash: Buffer
  /** As it was when the key was recognised last: a tenant whose quota has changed is recognised anew. */
  readonly quota: Quota
}

/**
 * The guard of a write of the session `s` that no statement has asked PostgreSQL about: its row is the one that this
 * process wrote, and the key is valid. Beside the revision stands what `SELECT_SESSION` compares, for the same reason.
 */
export const PROVEN = `and s.ledger_hash = :known_hash::text and s.lease_until = :known_lease::timestamptz
        and exists (
          select 1 from api_keys k join tenants t on t.tenant_id = k.tenant_id
          where k.key_hash = :key_hash::bytea and k.revoked_at is null and k.tenant_id = :tenant_id::text
            and t.quota = :quota::text and t.verified_at is not null
        )`

/** The values of `PROVEN`. */
export const proofOf = ({ ledger, leaseUntil }: SessionRow, { keyHash, quota }: KeyProof) => ({
  known_hash: ledger.hash,
  known_lease: leaseUntil,
  key_hash: keyHash,
  quota,
})
