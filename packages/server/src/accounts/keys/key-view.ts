import type { KeyView } from '@countersign/protocol'
import type { KeyRow } from '../../store/accounts/api-keys.js'

export const keyView = (key: KeyRow): KeyView => ({
  key_id: key.keyId,
  name: key.name,
  prefix: key.prefix,
  access: key.access,
  agent: key.agent,
  environment: key.environment,
  principal: key.principal,
  created_at: key.createdAt.toISOString(),
  last_used_at: key.lastUsedAt?.toISOString() ?? null,
  expires_at: key.expiresAt?.toISOString() ?? null,
  revoked_at: key.revokedAt?.toISOString() ?? null,
})
