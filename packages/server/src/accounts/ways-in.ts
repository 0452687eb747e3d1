import type { Reply, Routes } from '@countersign/protocol'
import type { OpenContext } from '../context/context.js'
import { isSignupOpen } from './what-is-open.js'

export const listWaysIn = async ({ app }: OpenContext): Promise<Reply<Routes['listWaysIn']>> => ({
  signup: isSignupOpen(app.config),
  passwords: app.config.passwords,
  providers: app.accounts.oidcClients.map(({ provider: { id, name } }) => ({ id, name })),
})
