import { LIMITS, type Reply, type Routes } from '@countersign/protocol'
import type { UserContext } from '../../context/context.js'
import { inRead } from '../../context/work.js'
import { listKeys as listKeyRows } from '../../store/accounts/api-keys.js'
import { keyView } from './key-view.js'

export async function listKeys(ctx: UserContext): Promise<Reply<Routes['listKeys']>> {
  const rows = await inRead(ctx, (sql) => listKeyRows(sql, ctx.tenant.tenantId))
  return { keys: rows.map(keyView), limit: LIMITS.activeKeysPerTenant }
}
