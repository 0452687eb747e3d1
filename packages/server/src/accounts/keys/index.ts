import { createKey } from './create-key.js'
import { listKeys } from './list-keys.js'
import { revokeKey } from './revoke-key.js'

/** API keys, for owners. */
export const keyHandlers = { listKeys, createKey, revokeKey }
