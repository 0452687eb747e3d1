import { type KeyRoute, ROUTES } from '@countersign/protocol'
import { ApiError } from '../base/api-error.js'
import type { Context } from '../context/context.js'
import type { Asked } from '../context/isolation.js'
import { inFind } from '../context/work.js'
import type { Queryable } from '../postgres/sql.js'
import type { KeyScope } from '../store/accounts/api-keys.js'
import { agentOfRun, type Owner, ownerOfSession, ownersOfWorkflow } from '../store/accounts/key-reach.js'

/** What a request says of its agent and environment, as far as it is read here. */
interface Parsed {
  readonly params: Readonly<Record<string, string>>
  readonly query: Named
  readonly body: Named & { readonly agents?: readonly string[]; readonly against?: Named }
}

interface Named {
  agent?: unknown
  environment?: unknown
}

/**
 * A key that is bound to an agent or environment reaches no other: what names another is 403, what belongs to another is
 * 404, as if it were not there, and lists have only its own. The table of routes says where each request names them.
 */
export async function requireWithinScope(ctx: Context, { route: name }: Asked, input: unknown): Promise<void> {
  const { scope, tenantId } = ctx.tenant
  if (scope === null || (scope.agent === null && scope.environment === null)) return
  const { about } = ROUTES[name] as KeyRoute
  const { params, query, body } = input as Parsed
  const requireOwn = async (find: (sql: Queryable) => Promise<Partial<Owner>[]>) => {
    const owners = await inFind(ctx, find)
    if (owners.length > 0 && !owners.some((owner) => isOwn(scope, owner))) throw new ApiError('NOT_FOUND')
  }
  if (about === 'body') requireNamed(scope, body)
  else if (about === 'query') {
    if (scope.agent !== null) query.agent ??= scope.agent
    if (scope.environment !== null) query.environment ??= scope.environment
    requireNamed(scope, query)
  } else if (about === 'agents') {
    const agents = body.agents ?? (body.against?.agent === undefined ? [] : [body.against.agent])
    for (const agent of agents) requireNamed(scope, { agent, environment: scope.environment })
  } else if (about === 'session') await requireOwn((sql) => ownerOfSession(sql, tenantId, params.session_id ?? ''))
  else if (about === 'workflow') await requireOwn((sql) => ownersOfWorkflow(sql, tenantId, params.workflow_id ?? ''))
  else if (about === 'run') await requireOwn((sql) => agentOfRun(sql, tenantId, params.run_id ?? ''))
  else throw outside(scope, 'and this is about all of them')
}

/** An environment that is left out is not compared: of what has none, the agent alone says whose it is. */
const isOwn = (scope: KeyScope, { agent, environment }: Partial<Owner>): boolean =>
  (scope.agent === null || agent === scope.agent) &&
  (scope.environment === null || environment === undefined || environment === scope.environment)

function requireNamed(scope: KeyScope, { agent = null, environment = null }: Named): void {
  if (!isOwn(scope, { agent, environment } as Owner)) throw outside(scope, 'and the request must name them')
}

const outside = ({ agent, environment }: KeyScope, why: string) =>
  new ApiError('KEY_SCOPE', {
    detail: `this key is for ${[agent && `agent ${agent}`, environment].filter(Boolean).join(' in ')} alone, ${why}`,
  })
