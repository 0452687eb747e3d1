import { LEDGER_KEYS_PATH, openApiDocument } from '@countersign/protocol'
import type { FastifyInstance } from 'fastify'
import type { OpenContext, Services } from '../context/context.js'
import { requireMetricsToken } from '../entry/metrics-token.js'
import { isWritable } from '../store/health.js'
import { REFERENCE_HEADERS, referencePage } from './reference-page.js'
import { isServedAs } from './wire.js'

const READY_TIMEOUT_MS = 2_000

const openApi = once(() => Buffer.from(JSON.stringify(openApiDocument())))
const reference = once(() => Buffer.from(referencePage()))

/** Makes what takes a tenth of a second before anybody waits for it. */
export function warmPages(): void {
  openApi()
  reference()
}

interface Page {
  readonly status: number
  readonly body: string | Buffer
  readonly headers: Readonly<Record<string, string>>
}

/** What is no operation: health, readiness, metrics, the reference for programs and for people. */
export function registerPages(app: FastifyInstance, services: Services): void {
  const page = (path: string, answer: (open: OpenContext) => Page | Promise<Page>) =>
    app.get(path, async (request, reply) => {
      if (!isServedAs(path, request)) return reply.callNotFound()
      request.routeName = path
      const { status, body, headers } = await answer(request.open)
      return reply.code(status).headers(headers).send(body)
    })
  const json = (body: string | Buffer, status = 200): Page => ({
    status,
    body,
    headers: { 'content-type': 'application/json' },
  })

  page('/healthz', () => json('{"status":"alive"}'))
  const readiness = onceAtATime(() => unreadiness(services))
  page('/readyz', async () => {
    const reason = await readiness()
    return reason === null ? json('{"status":"ready"}') : json(JSON.stringify({ status: 'not_ready', reason }), 503)
  })
  const { registry } = services.metrics
  const metrics = onceAtATime(() => registry.metrics())
  page('/metrics', async ({ request }) => {
    requireMetricsToken(services.config.metricsToken, request.http.header('authorization'))
    return { status: 200, body: await metrics(), headers: { 'content-type': registry.contentType } }
  })
  page('/openapi.json', () => json(openApi()))
  const keys = JSON.stringify({ keys: services.ledgerSigner?.keys ?? [] })
  page(LEDGER_KEYS_PATH, () => json(keys))
  page('/docs', () => ({ status: 200, body: reference(), headers: REFERENCE_HEADERS }))
}

/** Why no traffic should come here now, or null. */
async function unreadiness({ database, isReady, stopReason }: Services): Promise<string | null> {
  if (!isReady()) return 'the server is shutting down'
  const stopped = stopReason()
  if (stopped !== null) return stopped
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve('the database does not answer'), READY_TIMEOUT_MS)
  })
  const asked = isWritable(database.sql).then(
    (writable) => (writable ? null : 'the database is read-only'),
    () => 'the database cannot be reached',
  )
  return Promise.race([asked, late]).finally(() => clearTimeout(timer))
}

/** For what strangers may ask: requests that come meanwhile get the same answer. */
function onceAtATime<T>(find: () => Promise<T>): () => Promise<T> {
  let finding: Promise<T> | undefined
  return () => {
    finding ??= find().finally(() => {
      finding = undefined
    })
    return finding
  }
}

/** Made once, since it takes a moment and never changes; as bytes, which all replies share. */
function once(make: () => Buffer): () => Buffer {
  let made: Buffer | undefined
  return () => {
    made ??= make()
    return made
  }
}
