import type { Quota } from '@countersign/protocol'

/** What a write checks in place of a statement of its own that authenticates the key (decision 0005). */
export interface KeyProof {
  readonly keyHash: Buffer
  /** As it was when the key was last authenticated: a changed quota needs a new authentication. */
  readonly quota: Quota
}

/** A key `k` that is neither revoked nor expired. */
export const IN_FORCE = 'k.revoked_at is null and (k.expires_at is null or k.expires_at > clock_timestamp())'

/** Beside the guard of a session's write: the key is valid. */
export const PROVEN = `and exists (
          select 1 from api_keys k join tenants t on t.tenant_id = k.tenant_id
          where k.key_hash = :key_hash::bytea and ${IN_FORCE} and k.tenant_id = :tenant_id::text
            and t.quota = :quota::text and t.verified_at is not null
        )`

/** The values of `PROVEN`. */
export const proofOf = ({ keyHash, quota }: KeyProof) => ({ key_hash: keyHash, quota })
