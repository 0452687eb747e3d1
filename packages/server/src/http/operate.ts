import { ROUTES, type Route, type RouteName } from '@countersign/protocol'
import { type AskedFor, explainArchived } from '../archives/explain-archived.js'
import { ApiError } from '../base/api-error.js'
import type { Context, OpenContext } from '../context/context.js'
import { NotInPlace } from '../context/in-place.js'
import type { Asked } from '../context/isolation.js'
import { writeReply } from '../context/written-reply.js'
import { requireWithinScope } from '../entry/key-scope.js'
import { checkKeyBeforeRefusal, requireCheckedKey } from '../entry/recent-key.js'
import { bodyReaders } from './handlers.js'
import { parseInput } from './parse-input.js'

/** What the functions below see of a handler; `handlers.ts` has checked each against its own route. */
export type AnyHandler = (ctx: never, input: never) => Promise<unknown>

/** Reads what is asked, does it, and writes the reply as JSON: in place or in a thread, it is the same. */
export async function operate(
  handler: AnyHandler,
  ctx: OpenContext & Partial<Pick<Context, 'tenant' | 'recentKey'>>,
  asked: Asked,
): Promise<string> {
  const route: Route = ROUTES[asked.route]
  let input: ReturnType<typeof parseInput> | undefined
  let reply: unknown
  try {
    input = parseInput(route, asked, readerOf(asked.route, ctx as Context))
    if (ctx.tenant !== undefined) await requireWithinScope(ctx as Context, asked, input)
    if (route.workflows && !ctx.app.config.workflows) throw new ApiError('WORKFLOWS_DISABLED')
    reply = await handler(ctx as never, input as never)
  } catch (error) {
    if (error instanceof NotInPlace) throw error
    await checkKeyBeforeRefusal(ctx.recentKey)
    throw ctx.tenant === undefined ? error : await explainArchived(error, ctx as Context, askedFor(asked.params, input))
  }
  requireCheckedKey(ctx.recentKey, asked.route)
  return writeReply(reply)
}

function readerOf(name: RouteName, ctx: Context): ((bytes: Uint8Array) => unknown) | undefined {
  const reader = name in bodyReaders ? bodyReaders[name as keyof typeof bodyReaders] : undefined
  return reader && ((bytes) => reader({ body: bytes, tenantId: ctx.tenant.tenantId }))
}

/** The session and workflow that a request names: in its path, or in the body that creates a session. */
function askedFor(params: Readonly<Record<string, string>>, input: unknown): AskedFor {
  const { body } = (input ?? {}) as { body?: { workflow?: { workflow_id?: unknown } } }
  const created = body?.workflow?.workflow_id
  const workflow = params.workflow_id ?? (typeof created === 'string' ? created : undefined)
  return { session: params.session_id, workflow }
}
