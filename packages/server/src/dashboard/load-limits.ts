import { BUCKETS, LIMITS, type Reply, type Routes } from '@countersign/protocol'
import type { UserContext } from '../context/context.js'
import { inRead } from '../context/work.js'
import { countActiveKeys } from '../store/accounts/api-keys.js'
import { readBuckets } from '../store/accounts/buckets.js'
import { countRuns } from '../store/runs/runs.js'

/** What the tenant may use, and what is left of it now. */
export async function loadLimits(ctx: UserContext): Promise<Reply<Routes['loadLimits']>> {
  const numbers = ctx.app.config.quotas[ctx.tenant.quota]
  const [levels, runs, keys] = await Promise.all([
    inRead(ctx, (sql) => readBuckets(sql, ctx.tenant.tenantId)),
    inRead(ctx, (sql) => countRuns(sql, ctx.tenant.tenantId)),
    inRead(ctx, (sql) => countActiveKeys(sql, ctx.tenant.tenantId)),
  ])
  const available = (bucket: string, perMinute: number): number => {
    const level = levels.find((row) => row.bucket === bucket)
    if (level === undefined) return perMinute
    return Math.min(perMinute, level.tokens + (level.idleSeconds * perMinute) / 60)
  }
  const bytes = levels.find((row) => row.bucket === 'bytes')
  const bytesLeft = bytes === undefined ? numbers.bytes : bytes.tokens + (bytes.idleSeconds * numbers.bytes) / 86_400
  return {
    quota: ctx.tenant.quota,
    buckets: BUCKETS.flatMap((bucket) => {
      const perMinute = numbers[bucket]
      if (perMinute === undefined) return []
      return [{ bucket, per_minute: perMinute, available: Math.floor(available(bucket, perMinute)) }]
    }),
    bytes: { per_day: numbers.bytes, available: Math.floor(Math.max(0, Math.min(numbers.bytes, bytesLeft))) },
    runs: { used: runs, limit: numbers.runs },
    keys: { active: keys, limit: LIMITS.activeKeysPerTenant },
  }
}
