import { createHash, timingSafeEqual } from 'node:crypto'
import type { Metrics } from '../base/metrics.js'
import { GatewayProblem } from '../base/problems.js'

/** Pages of the gateway itself, by their paths. */
export type OwnPages = ReadonlyMap<string, (authorization: string | undefined) => Promise<Response>>

export interface OwnPagesParts {
  readonly metrics: Metrics
  /** Null: there are no metrics to see. */
  readonly metricsToken: string | null
  /** Why the gateway could not govern a request now; null where it could. */
  readonly problem: () => Promise<string | null>
}

export function createOwnPages({ metrics, metricsToken, problem }: OwnPagesParts): OwnPages {
  let finding: Promise<string | null> | undefined
  return new Map([
    ['/healthz', async () => Response.json({ status: 'alive' })],
    [
      '/readyz',
      async () => {
        // Requests that come meanwhile get the same answer.
        finding ??= problem().finally(() => {
          finding = undefined
        })
        const reason = await finding
        return reason === null
          ? Response.json({ status: 'ready' })
          : Response.json({ status: 'not_ready', reason }, { status: 503 })
      },
    ],
    [
      '/metrics',
      async (authorization?: string) => {
        requireToken(metricsToken, authorization)
        const { registry } = metrics
        return new Response(await registry.metrics(), { headers: { 'content-type': registry.contentType } })
      },
    ],
  ])
}

function requireToken(token: string | null, authorization = ''): void {
  if (token === null) throw new GatewayProblem('not_found', 'metrics are off: set COUNTERSIGN_METRICS_TOKEN')
  if (!timingSafeEqual(hashed(authorization), hashed(`Bearer ${token}`)))
    throw new GatewayProblem('unauthorized', 'metrics need the token of COUNTERSIGN_METRICS_TOKEN')
}

const hashed = (text: string): Buffer => createHash('sha256').update(text).digest()
