import { ROUTES, type RouteName } from '@countersign/protocol'

export interface EchoHandlers {
  handlers: Record<
    RouteName,
    (ctx: { tenant?: { tenantId: string; userId: string | null } }, input: unknown) => Promise<unknown>
  >
  /** The routes whose function ran. */
  reached: RouteName[]
}

/** A function for every route that only notes that it was reached: for tests of what stands before the operations. */
export function echoHandlers(): EchoHandlers {
  const reached: RouteName[] = []
  const echo =
    (name: RouteName) => async (ctx: { tenant?: { tenantId: string; userId: string | null } }, input: unknown) => {
      reached.push(name)
      return { route: name, tenant_id: ctx.tenant?.tenantId ?? null, user_id: ctx.tenant?.userId ?? null, input }
    }
  const names = Object.keys(ROUTES) as RouteName[]
  return { handlers: Object.fromEntries(names.map((name) => [name, echo(name)])) as EchoHandlers['handlers'], reached }
}
