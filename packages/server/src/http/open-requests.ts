import { ApiError } from '../base/api-error.js'
import type { Config } from '../base/config.js'
import type { Metrics } from '../base/metrics.js'
import type { RequestScope } from '../context/context.js'
import { senderOf } from '../entry/senders.js'

/**
 * How many requests each sender has open. Behind a proxy one client could otherwise hold all connections, and a tenant
 * from many addresses: each with a body of which one byte comes, for example.
 */
export interface OpenRequests {
  /** Before anything is done for it. Throws 503 where its sender has too many. */
  enter(request: RequestScope, isStop: boolean): void
  /** Who sent it is known now: it counts for the tenant, and no longer for a network that others may share. */
  prove(request: RequestScope, tenantId: string): void
  /** It was answered. */
  leave(request: RequestScope): void
}

interface Parts {
  readonly config: Pick<Config, 'maxConnections' | 'maxConnectionsPerAddress'>
  readonly metrics: Metrics
}

export function createOpenRequests({ config, metrics }: Parts): OpenRequests {
  const most = Math.min(config.maxConnectionsPerAddress, Math.ceil(config.maxConnections / 4))
  const counts = new Map<string, number>()
  const open = new WeakMap<RequestScope, { readonly owner: string; readonly isStop: boolean }>()

  const count = (request: RequestScope, sender: string, isStop: boolean) => {
    // Those that stop something are counted apart: other requests of the tenant do not keep them out.
    const owner = isStop ? `${sender} stop` : sender
    const before = counts.get(owner) ?? 0
    if (before >= most) {
      metrics.count('countersign_connections_dropped_total', { reason: 'open_requests' })
      throw busy()
    }
    counts.set(owner, before + 1)
    open.set(request, { owner, isStop })
  }

  const leave = (request: RequestScope) => {
    const known = open.get(request)
    if (known === undefined) return
    open.delete(request)
    const left = (counts.get(known.owner) ?? 0) - 1
    if (left > 0) counts.set(known.owner, left)
    else counts.delete(known.owner)
  }

  return {
    enter: (request, isStop) => count(request, senderOf(request), isStop),
    prove: (request, tenantId) => {
      const isStop = open.get(request)?.isStop ?? false
      leave(request)
      count(request, tenantId, isStop)
    },
    leave,
  }
}

const busy = () =>
  new ApiError(
    'BUSY',
    { detail: 'too many requests of this sender are open; send the next ones when they are answered' },
    { 'retry-after': '1', connection: 'close' },
  )
