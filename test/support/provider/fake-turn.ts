import type { Provider } from '../../../packages/sdk/src/providers/provider.js'
import type { Shown } from '../../../packages/sdk/src/turn/apply-verdict.js'
import type { Came } from '../../../packages/sdk/src/turn/read-answer.js'
import { type Asked, readRequest } from '../../../packages/sdk/src/turn/read-request.js'
import type { Turn } from '../../../packages/sdk/src/turn/turn.js'

type Judge = (came: Came, asked: Asked) => Shown

/** A turn that enforces what `judge` says of each answer, whatever the request. */
export const fakeTurn = (provider: Provider, judge: Judge, mayRetry = false): Turn => ({
  mayRetry,
  prepare: async (request) => ({ ...readRequest(provider, request, 'judged'), stance: 'enforce' }),
  judge: async (asked, came) => judge(came, asked),
  abandon: async () => {},
})
