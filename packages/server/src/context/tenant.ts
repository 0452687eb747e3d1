import type { Quota } from '@countersign/protocol'
import type { KeyScope } from '../store/accounts/api-keys.js'

/** Whose data an operation may touch, and who asks. */
export interface Tenant {
  readonly tenantId: string
  readonly quota: Quota
  /** Null for a person who is signed in. */
  readonly keyId: string | null
  readonly userId: string | null
  /** What the key may be used for. Null for a person. */
  readonly scope: KeyScope | null
}
