import { createKey } from './create-key.js'
import { listAudit } from './list-audit.js'
import { listKeys } from './list-keys.js'
import { revokeKey } from './revoke-key.js'

/** API keys and the audit trail, for people who are signed in. */
export const keyHandlers = { listKeys, createKey, revokeKey, listAudit }
