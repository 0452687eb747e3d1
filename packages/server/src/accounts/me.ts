import type { Reply, Routes } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { UserContext } from '../context/context.js'
import { inFind } from '../context/work.js'
import { loadUser } from '../store/accounts/accounts.js'
import { userView } from './user-view.js'

export async function me(ctx: UserContext): Promise<Reply<Routes['me']>> {
  const user = await inFind(ctx, (sql) => loadUser(sql, ctx.signIn.tenantId, ctx.signIn.userId))
  if (user === undefined) throw new ApiError('UNAUTHENTICATED')
  return { user: userView(user), mail: ctx.app.accounts.mailDelivery }
}
