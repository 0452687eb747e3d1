import type { Role } from '@countersign/protocol'
import type { Tx } from '../../postgres/sql.js'
import {
  countOwners,
  loadMember,
  type MemberRow,
  removeMember as removeStored,
  setDisabled,
  setGroups,
  setRole,
} from '../../store/accounts/members.js'
import { revokeRefreshTokensOf } from '../../store/accounts/refresh-tokens.js'
import type { AuditAction } from '../../store/audit.js'

/** Changes of members, by members or the operator. The caller holds the tenant's row, and writes the acts into the audit trail. */

export interface MemberChange {
  readonly role?: Role | undefined
  readonly groups?: readonly string[] | undefined
  readonly disabled?: boolean | undefined
}

interface Act {
  readonly action: AuditAction
  readonly subject: string
  readonly detail: string | null
}

interface Named {
  readonly tenantId: string
  readonly userId: string
}

/** What was done; nothing where the member is so already. */
export async function changeMember(
  tx: Tx,
  named: Named,
  { role, groups, disabled }: MemberChange,
): Promise<Act[] | 'last owner'> {
  const before = await load(tx, named)
  if (role !== undefined) await setRole(tx, named, role)
  if (groups !== undefined) await setGroups(tx, named, groups)
  if (disabled !== undefined) await setDisabled(tx, named, disabled)
  if (disabled) await revokeRefreshTokensOf(tx, named)
  if ((await countOwners(tx, named.tenantId)) === 0) return 'last owner'
  const after = await load(tx, named)
  const { userId: subject, email } = before
  const [from, to] = [placeWords(before), placeWords(after)]
  const acts: Act[] = from === to ? [] : [{ action: 'member_changed', subject, detail: `${email}: ${from} → ${to}` }]
  if ((before.disabledAt === null) === (after.disabledAt === null)) return acts
  const action = after.disabledAt === null ? 'member_enabled' : 'member_disabled'
  return [...acts, { action, subject, detail: email }]
}

/** Name and address go; what the member did stays in the audit trail, under the address that they had then. */
export async function removeMember(tx: Tx, named: Named): Promise<Act[] | 'last owner'> {
  await revokeRefreshTokensOf(tx, named)
  await removeStored(tx, named)
  if ((await countOwners(tx, named.tenantId)) === 0) return 'last owner'
  return [{ action: 'member_removed', subject: named.userId, detail: null }]
}

async function load(tx: Tx, { tenantId, userId }: Named): Promise<MemberRow> {
  const member = await loadMember(tx, tenantId, userId)
  if (member === undefined) throw new Error('the member is gone')
  return member
}

/** `approver in finance, on-call`. */
export const placeWords = ({ role, groups }: { role: string; groups: readonly string[] }): string =>
  groups.length === 0 ? role : `${role} in ${groups.join(', ')}`
