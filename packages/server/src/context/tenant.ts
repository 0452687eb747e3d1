import type { Quota } from '@countersign/protocol'

/** Whose data an operation may touch, and who asks. */
export interface Tenant {
  readonly tenantId: string
  readonly quota: Quota
  /** Null for a person who is signed in. */
  readonly keyId: string | null
  readonly userId: string | null
}
