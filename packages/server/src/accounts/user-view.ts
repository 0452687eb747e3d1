import type { UserView } from '@countersign/protocol'
import type { UserRow } from '../store/accounts/accounts.js'

export const userView = (user: UserRow): UserView => ({
  user_id: user.userId,
  email: user.email,
  name: user.name,
  email_verified: user.emailVerifiedAt !== null,
  tenant_id: user.tenantId,
  tenant_name: user.tenantName,
  quota: user.quota,
})
