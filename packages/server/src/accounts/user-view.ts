import type { UserView } from '@countersign/protocol'
import type { UserRow } from '../store/accounts/accounts.js'

export const userView = (user: UserRow): UserView => ({
  user_id: user.userId,
  email: user.email,
  name: user.name,
  email_verified: user.emailVerifiedAt !== null,
  role: user.role,
  groups: user.groups,
  has_password: user.hasPassword,
  tenant_id: user.tenantId,
  tenant_name: user.tenantName,
  quota: user.quota,
})
