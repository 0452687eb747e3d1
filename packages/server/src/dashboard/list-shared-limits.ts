import { bucketEndMs, limitIdFor, type NamedLimit } from '@countersign/engine'
import { type Input, type Reply, type Routes, type SharedLimitUsage, windowMs } from '@countersign/protocol'
import type { UserContext } from '../context/context.js'
import {
  findLimitUsage,
  KEYS_READ,
  type LimitUsage,
  listAgentNames,
  listLimitUsage,
  loadLimitSalt,
} from '../store/dashboard/shared-limit-usage.js'

/** What is used of limits over all sessions: for the keys that use most of them, or for one that a person names. */
export async function listSharedLimits(
  ctx: UserContext,
  { query: { key } }: Input<Routes['listSharedLimits']>,
): Promise<Reply<Routes['listSharedLimits']>> {
  const { sql } = ctx.app.database
  const { tenantId } = ctx.tenant
  const rows = await listLimitUsage(sql, tenantId)
  if (rows.length === 0) return { limits: [] }
  const salt = await loadLimitSalt(sql, tenantId)
  const ids = (limit: NamedLimit, names: readonly string[]) =>
    names.flatMap((name) => {
      const id = limitIdFor(limit, name, salt)
      return id === null ? [] : [{ name: limit.name, id, key: name }]
    })
  if (key !== undefined) {
    const wanted = firstOfEach(rows).flatMap((limit) => ids(limit, [key]))
    const found = await findLimitUsage(sql, tenantId, wanted)
    return { limits: limitsOf(found, new Map(wanted.map(({ id }) => [id, key]))) }
  }
  const perAgent = firstOfEach(rows).filter(({ per }) => per === 'agent')
  const agents = perAgent.length === 0 ? [] : await listAgentNames(sql, tenantId)
  const known = perAgent.flatMap((limit) => ids(limit, agents))
  return { limits: limitsOf(rows, new Map(known.map(({ id, key: agent }) => [id, agent]))) }
}

const limitKey = ({ name, per, counts, window }: NamedLimit) => JSON.stringify([name, per, counts, window])

/** A row of each limit. Rows of one limit stand together, and the newest bound is as good as any. */
const firstOfEach = (rows: readonly LimitUsage[]): LimitUsage[] => [
  ...new Map(rows.map((row) => [limitKey(row), row])).values(),
]

function limitsOf(rows: readonly LimitUsage[], names: ReadonlyMap<string, string>): SharedLimitUsage[] {
  return firstOfEach(rows).map((limit) => {
    const { name, per, counts, window, most, keys } = limit
    const own = rows.filter((row) => limitKey(row) === limitKey(limit))
    return {
      name,
      per,
      counts,
      window,
      most,
      keys: own.map(({ id, used, oldest }) => ({
        id,
        name: names.get(id) ?? null,
        used,
        frees_at: freesAt(window, oldest),
      })),
      keys_in_use: keys,
      more: keys >= KEYS_READ,
    }
  })
}

function freesAt(window: string, oldest: string | null): string | null {
  return oldest === null ? null : new Date(bucketEndMs({ windowMs: windowMs(window) }, Number(oldest))).toISOString()
}
