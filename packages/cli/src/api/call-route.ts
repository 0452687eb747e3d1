import {
  type Answer,
  fixFor,
  pathOf,
  type RequestBody,
  ROUTES,
  type Route,
  type RouteName,
  type Routes,
} from '@countersign/protocol'
import { readEnvironment } from '@countersign/sdk'
import { UsageError } from '../terminal/command.js'

/** The server a command talks to. */
export interface Service {
  readonly url: string
  readonly key: string
}

/** The server refused, or could not be reached. */
export class RefusedError extends Error {
  override name = 'RefusedError'
  readonly problems: readonly string[]
  /** Null when there was no answer. */
  readonly status: number | null
  /** What was asked for is in a file, which the message names. */
  readonly isArchived: boolean

  constructor(message: string, problems: readonly string[], status: number | null = null, isArchived = false) {
    super(message)
    this.problems = problems
    this.status = status
    this.isArchived = isArchived
  }
}

/** From the flags, or from the SDK's variables: a key in a flag would show up in process lists and CI logs. */
export function serviceOf(given: { url?: string | undefined; key?: string | undefined }): Service {
  const { apiUrl, apiKey } = readEnvironment()
  const url = given.url ?? apiUrl
  const key = given.key ?? apiKey
  if (url === null || key === null) {
    throw new UsageError('--url URL and --key KEY are required, or COUNTERSIGN_API_URL and COUNTERSIGN_API_KEY')
  }
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new UsageError('--url must be an address such as http://127.0.0.1:4319')
  return { url, key }
}

/** Both the address and the key are in the environment. */
export function hasServiceInEnvironment(): boolean {
  const { apiUrl, apiKey } = readEnvironment()
  return apiUrl !== null && apiKey !== null
}

interface Given<Name extends RouteName> {
  params?: Record<string, string>
  query?: Record<string, string>
  body?: RequestBody<Routes[Name]>
}

/** Calls a route by name and checks its answer. */
export async function callRoute<Name extends RouteName>(
  service: Service,
  name: Name,
  given: Given<Name>,
): Promise<Answer<Routes[Name]>> {
  const route: Route = ROUTES[name]
  return route.reply.parse(await askRoute(service, name, given)) as Answer<Routes[Name]>
}

/** The answer of a route as it came, unchecked. */
export async function askRoute<Name extends RouteName>(
  { url, key }: Service,
  name: Name,
  given: Given<Name>,
): Promise<unknown> {
  const route: Route = ROUTES[name]
  const to = new URL(pathOf(route, given.params), url)
  for (const [field, value] of Object.entries(given.query ?? {})) to.searchParams.set(field, value)
  const headers: Record<string, string> = { authorization: `Bearer ${key}` }
  if (given.body !== undefined) headers['content-type'] = 'application/json'
  const response = await fetch(to, {
    method: route.method,
    headers,
    ...(given.body === undefined ? {} : { body: JSON.stringify(given.body) }),
  }).catch((error) => {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    const why = cause instanceof Error ? cause.message || codeOf(cause) : String(cause)
    throw new RefusedError(`${url} cannot be reached: ${why}: check that the server is running there, or set --url`, [])
  })
  const body: unknown = await response.json().catch(() => null)
  if (!response.ok) throw refusal(url, response.status, body)
  return body
}

function refusal(url: string, status: number, body: unknown): RefusedError {
  const { code, title, detail, problems, archived_at } = (
    typeof body === 'object' && body !== null ? body : {}
  ) as Record<string, unknown>
  const why = [title, detail].filter((part) => typeof part === 'string').join(': ') || 'the answer could not be read'
  const list = Array.isArray(problems) ? problems.filter((problem) => typeof problem === 'string') : []
  const isArchived = archived_at !== undefined
  const fix = isArchived ? null : fixFor(status, code)
  return new RefusedError(
    `${url} answered ${status}: ${why}${fix === null ? '' : `: ${fix}`}`,
    list,
    status,
    isArchived,
  )
}

/** The error for a host with several addresses has no message of its own. */
const codeOf = (error: Error): string => ('code' in error ? String(error.code) : error.name)
