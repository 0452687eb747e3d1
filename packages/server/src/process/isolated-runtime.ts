import type { Plan } from '@countersign/engine'
import type { CaptureItem, RouteName } from '@countersign/protocol'
import { createIssuerKeys } from '../accounts/principals/issuer-keys.js'
import type { Random } from '../base/crypto/secrets.js'
import { createLog } from '../base/log.js'
import { createMemories } from '../base/memories.js'
import type { Counted, Metrics } from '../base/metrics.js'
import { createOfferedMemory } from '../captures/offered-memory.js'
import type { Context, Services } from '../context/context.js'
import type { IsolatedReply, IsolatedRequest } from '../context/isolation.js'
import { createPlanCache, type PlanCache } from '../context/plan-cache.js'
import { isForInPlace, type UsedPlan } from '../context/plans-in-place.js'
import { NO_HEADERS } from '../context/reply-headers.js'
import { toApiError } from '../http/errors.js'
import { handlers } from '../http/handlers.js'
import { type AnyHandler, operate } from '../http/operate.js'
import { createDatabase, type Database } from '../postgres/database.js'
import type { IsolatedStart } from './isolation.js'
import { ledgerSignerOf } from './ledger-signer.js'
import { tasksHere } from './tasks.js'

/** Of a thread: it does one request at a time, which reads and writes. */
const POOL_SIZE = 4
const MEMORY_MB = 256

/** What a request leaves for the process, until its reply takes it along. */
interface Left {
  readonly counted: Counted[]
  readonly captures: CaptureItem[]
  readonly plans: UsedPlan[]
  runWaits: boolean
}

/** The services of a thread that answers requests one at a time. */
export function createIsolatedRuntime(
  { config, databaseUrl }: Pick<IsolatedStart, 'config' | 'databaseUrl'>,
  { random, onWrite }: { readonly random: Random; readonly onWrite: () => void },
) {
  const database = noticed(createDatabase({ url: databaseUrl, poolSize: POOL_SIZE }), onWrite)
  const log = createLog({ level: config.logLevel })
  const memories = createMemories({ memoryMb: MEMORY_MB })
  const clock = () => new Date()
  const app: ServicesOfThread = {
    config,
    database,
    log,
    memories,
    thread: tasksHere,
    offeredTools: createOfferedMemory(memories.cache('offered_tools')),
    ledgerSigner: ledgerSignerOf(config),
    issuerKeys: createIssuerKeys({ config, clock }, memories.cache('issuer_keys')),
    clock,
    random,
  }
  const plans = createPlanCache(memories.cache('plans'))
  return { answer: (request: IsolatedRequest) => answerIsolated(app, plans, request) }
}

export type ServicesOfThread = Pick<
  Services,
  | 'config'
  | 'database'
  | 'log'
  | 'memories'
  | 'thread'
  | 'offeredTools'
  | 'ledgerSigner'
  | 'issuerKeys'
  | 'clock'
  | 'random'
>

/** Answers a request with all that it needs in itself. Also what tests do in place of a thread. */
export async function answerIsolated(
  app: ServicesOfThread,
  plans: PlanCache,
  request: IsolatedRequest,
): Promise<IsolatedReply> {
  const left: Left = { counted: [], captures: [], plans: [], runWaits: false }
  const { tenant, signIn, requestId, clientAddress, publicUrl, ...asked } = request
  const ctx = {
    app: { ...app, ...leaving(left), plans: noting(plans, left), isInPlace: false, publicUrl: () => publicUrl },
    request: {
      id: requestId,
      log: app.log.with({ request_id: requestId }),
      clientAddress,
      replyHeaders: NO_HEADERS,
      http: { query: asked.query, bodyBytes: asked.body?.length ?? 0 },
    },
    tenant,
    signIn,
    session: null,
    recentKey: null,
  } as unknown as Context
  try {
    const text = await operate((handlers as Partial<Record<RouteName, unknown>>)[asked.route] as AnyHandler, ctx, asked)
    return { outcome: { body: Buffer.from(text) }, ...left }
  } catch (error) {
    const refusal = toApiError(error)
    if (refusal.status >= 500) ctx.request.log.error({ error }, 'a request failed in its thread')
    const { code, extras, headers } = refusal
    return { outcome: { refusal: { code, extras, headers } }, ...left }
  }
}

/** The services that are of the whole process: what is asked of them is left for it. */
function leaving(left: Left): Pick<Services, 'metrics' | 'captures' | 'sessions' | 'judgeRuns'> {
  const count: Metrics['count'] = (name, labels = {}, by = 1) => void left.counted.push({ name, labels, by })
  return {
    metrics: { count } as Metrics,
    captures: { note: (_, item) => void left.captures.push(item), flush: async () => {}, close: async () => {} },
    sessions: { find: () => null, remember: () => {}, forget: () => {} },
    judgeRuns: () => {
      left.runWaits = true
    },
  }
}

function noting(plans: PlanCache, { plans: used }: Left): PlanCache {
  const note = (plan: Plan, tenantId: string): Plan => {
    if (isForInPlace(plan)) used.push({ tenantId, hash: plan.hash })
    return plan
  }
  return {
    ofSession: async (query, session) => note(await plans.ofSession(query, session), session.tenantId),
    prepare: async (compiled, tenantId) => {
      const prepared = await plans.prepare(compiled, tenantId)
      if (prepared.ok) note(prepared.plan, tenantId)
      return prepared
    },
  }
}

/** Says before anything lasts that it will. */
const noticed = (database: Database, onWrite: () => void): Database => ({
  ...database,
  single: (tenantId, fn) => {
    onWrite()
    return database.single(tenantId, fn)
  },
  transaction: (tenantId, fn, options) =>
    database.transaction(
      tenantId,
      async (tx) => {
        const result = await fn(tx)
        onWrite()
        return result
      },
      options,
    ),
})
