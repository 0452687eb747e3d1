import { bucketEndMs, type LimitKey, limitIdFor, type NamedLimit, provenKey } from '@countersign/engine'
import { type Input, type Reply, type Routes, type SharedLimitUsage, windowMs } from '@countersign/protocol'
import { groupBy } from '../base/group-by.js'
import type { UserContext } from '../context/context.js'
import { inRead } from '../context/work.js'
import { listIssuers } from '../store/accounts/issuers.js'
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
  const { tenantId } = ctx.tenant
  const rows = await inRead(ctx, (sql) => listLimitUsage(sql, tenantId))
  const more = rows[0]?.moreLimits ?? false
  if (rows.length === 0) return { limits: [], more }
  const salt = await inRead(ctx, (sql) => loadLimitSalt(sql, tenantId))
  const ids = (limit: NamedLimit, keys: ReadonlyMap<string, LimitKey>) =>
    [...keys].flatMap(([name, key]) => {
      const id = limitIdFor(limit, key, salt)
      return id === null ? [] : [{ name: limit.name, id, key: name }]
    })
  if (key !== undefined) {
    const issuers = await inRead(ctx, (sql) => listIssuers(sql, tenantId))
    // A proven principal is counted apart from a told one, and for each issuer.
    const named = new Map<string, LimitKey>([
      [key, key],
      ...issuers.map(({ issuer }): [string, LimitKey] => [`${key} (proven by ${issuer})`, provenKey(issuer, key)]),
    ])
    const wanted = firstOfEach(rows).flatMap((limit) => ids(limit, named))
    const found = await inRead(ctx, (sql) => findLimitUsage(sql, tenantId, wanted))
    return { limits: limitsOf(found, new Map(wanted.map(({ id, key: name }) => [id, name]))), more }
  }
  const perAgent = firstOfEach(rows).filter(({ per }) => per === 'agent')
  const agents = perAgent.length === 0 ? [] : await inRead(ctx, (sql) => listAgentNames(sql, tenantId))
  // The agent behind each id: ids are hashes.
  const names = new Map(
    perAgent
      .flatMap((limit) => ids(limit, new Map(agents.map((agent) => [agent, agent]))))
      .map(({ id, key: agent }) => [id, agent]),
  )
  return { limits: limitsOf(rows, names), more }
}

const limitKey = ({ name, per, counts, window }: NamedLimit) => JSON.stringify([name, per, counts, window])

/** The rows of each limit. */
const byLimit = (rows: readonly LimitUsage[]) => [...groupBy(rows, limitKey).values()]

/** A row of each limit: one bound is as good as any. */
const firstOfEach = (rows: readonly LimitUsage[]): LimitUsage[] => byLimit(rows).map(([first]) => first)

function limitsOf(rows: readonly LimitUsage[], names: ReadonlyMap<string, string>): SharedLimitUsage[] {
  return byLimit(rows).map((own) => {
    const { name, per, counts, window, most, keys } = own[0]
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
