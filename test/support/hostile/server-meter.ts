import { randomUUID } from 'node:crypto'
import { type JsonObject, type JsonValue, pathOf, ROUTES } from '@countersign/protocol'
import { createTenant, readConfig } from '@countersign/server'
import { createTestDatabase } from '../postgres/database.js'
import { lines, sendLines } from './lines-family.js'
import { changedBody, RICH_PLAN, ROUTE_BODIES, type RouteBody } from './route-bodies.js'
import type { Measured, Meter, Question } from './search.js'
import { startWatchedService, type WatchedService } from './start-watched.js'

type Asked = Pick<Measured, 'bytes' | 'refused'>

/** Sends requests to a real service, and measures how long its main thread worked on them in one piece. */
export async function openServerMeter(limitMs: number): Promise<Meter & { close(): Promise<void> }> {
  const database = await createTestDatabase()
  const { key } = await createTenant('searcher', 'scale', readConfig({ DATABASE_URL: database.url }))
  let service: WatchedService | null = null

  const send = async (url: string, route: RouteBody['route'], body: JsonValue, session = '') => {
    const path = pathOf(ROUTES[route], { session_id: session } as never)
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const signal = AbortSignal.timeout(limitMs)
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body), signal })
    return { status: answer.status, body: (await answer.json()) as JsonObject }
  }

  /** What must have happened before the route is asked, and what its body says of that. */
  const prepare = async (url: string, { after }: RouteBody): Promise<{ session: string; given: JsonObject }> => {
    const session = randomUUID()
    if (after === undefined) return { session, given: {} }
    const created = { session_id: session, holder_id: 'h', compiled_session: RICH_PLAN, principal: 'p' }
    const { body } = await send(url, 'createSession', created)
    const { fence = 0 } = body
    if (after === 'createSession') return { session, given: { fence } }
    const prepared_request_id = randomUUID()
    const asked = { prepared_request_id, fence, state_version: 0, tools: [{ name: 'look' }, { name: 'refund' }] }
    await send(url, 'preflight', asked, session)
    return { session, given: { prepared_request_id, fence } }
  }

  const end = () => {
    service?.child.kill('SIGKILL')
    service = null
  }

  /** Prepares what is asked, and returns what asks it: the bytes sent, and why they were refused. */
  const askOf = async (url: string, { family, genes }: Question): Promise<() => Promise<Asked>> => {
    if (family === lines.name) return async () => ({ bytes: await sendLines(genes, url, key), refused: null })
    const asked = ROUTE_BODIES.find(({ name }) => name === family)
    if (asked === undefined) throw new Error(`there is no route ${family}`)
    const changed = changedBody(asked, genes)
    const { session, given } = await prepare(url, asked)
    const own = asked.route === 'createSession' ? { session_id: session } : given
    const body = isObject(changed) ? { ...changed, ...own } : changed
    return async () => {
      const { status, body: reply } = await send(url, asked.route, body, session)
      return { bytes: JSON.stringify(body).length, refused: status < 400 ? null : `${reply.code}: ${reply.detail}` }
    }
  }

  return {
    measure: async (question) => {
      service ??= await startCalmService(database.url)
      try {
        const ask = await askOf(service.url, question)
        service.takePieceMs()
        const asked = await ask()
        // The longest piece is told with the next round of the event loop.
        await new Promise((done) => setTimeout(done, 20))
        const longestMs = service.takePieceMs()
        return { ...question, stallMs: longestMs, measured: { ...asked, longestMs } }
      } catch {
        end()
        return { ...question, stallMs: limitMs, measured: null }
      }
    },
    close: async () => {
      end()
      await database.drop()
    },
  }
}

/** What a service does at its start is not what a request made it do. */
async function startCalmService(databaseUrl: string): Promise<WatchedService> {
  const service = await startWatchedService(databaseUrl)
  do await new Promise((done) => setTimeout(done, CALM_MS))
  while (service.takePieceMs() > 0)
  return service
}

const CALM_MS = 500

const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
