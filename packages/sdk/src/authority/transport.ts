import {
  type CheckedReply,
  ERRORS,
  type Problem,
  pathOf,
  problemSchema,
  type RequestBody,
  ROUTES,
  type RouteName,
  type Routes,
} from '@countersign/protocol'
import { messageOf } from '../base/diagnostics.js'
import { type Exchange, type HttpAnswer, TimedOut } from '../base/exchange.js'

/** How the SDK speaks to the service: one call, with its retries, inside one deadline. */
export interface Transport {
  call<Name extends RouteName>(name: Name, sent: Sent<Name>, limits?: CallLimits): Promise<ReplyOf<Name>>
}

export type ReplyOf<Name extends RouteName> = CheckedReply<Routes[Name]>

export interface Sent<Name extends RouteName> {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: RequestBody<Routes[Name]>
}

export interface CallLimits {
  /** For the call with all its retries. */
  readonly timeoutMs?: number
  readonly attempts?: number
}

export interface TransportSettings {
  readonly baseUrl: string
  readonly apiKey: string
  readonly timeoutMs: number
  readonly exchange: Exchange
  /** Between 0 and 1; spreads retries. */
  readonly random?: () => number
  /** Called when a call is about to wait because its tenant has asked for too much. */
  readonly onThrottled?: (waitMs: number) => void
}

/** The service answered: the request cannot be done as asked. */
export class ServiceRefusal extends Error {
  override readonly name = 'ServiceRefusal'
  readonly status: number
  readonly code: Problem['code']
  /** The problem details, with whatever the client needs to go on. */
  readonly problem: Problem

  constructor(problem: Problem) {
    super(`the service answered ${problem.status} ${problem.code}: ${problem.detail ?? problem.title}`)
    this.status = problem.status
    this.code = problem.code
    this.problem = problem
  }
}

/** The service answered that its tenant asks for too much, and went on saying so for as long as a call may wait. */
export class ServiceThrottled extends ServiceRefusal {
  /** After this it takes the request; null where it did not say. */
  readonly retryAfterMs: number | null

  constructor(request: string, problem: Problem | null, waitMs: number | null) {
    const { status, title } = { status: 429, title: ERRORS.RATE_LIMITED.title }
    const why = problem?.detail ?? 'the quota of the tenant is used up for now'
    const detail = `${request} is rate limited: ${why}`
    super({ ...(problem ?? { type: 'about:blank', title }), status, code: 'RATE_LIMITED', detail })
    this.retryAfterMs = waitMs
  }
}

/** The service did not answer, or not with an answer: nothing is known about what it did. */
export class ServiceFailure extends Error {
  override readonly name = 'ServiceFailure'
}

const ATTEMPTS = 4
const FIRST_DELAY_MS = 50
const LONGEST_DELAY_MS = 2_000
const LONGEST_SPREAD_MS = 1_000

/**
 * Every mutation of the service can be sent again after a lost answer, so whatever is not an answer is retried:
 * connection errors, timeouts, 5xx, bodies that are not the route's. The service's 4xx are answers; a 429 is one that is
 * waited out as long as the time allows.
 */
export function createTransport(settings: TransportSettings): Transport {
  const random = settings.random ?? Math.random
  return {
    async call(name, sent, limits = {}) {
      const startedMs = performance.now()
      let timeoutMs = limits.timeoutMs ?? settings.timeoutMs
      const attempts = limits.attempts ?? ATTEMPTS
      let failures = 0
      let sleptMs = 0
      for (let attempt = 1; ; attempt++) {
        const leftMs = timeoutMs - (performance.now() - startedMs)
        const result = await once(settings, name, sent, attemptTimeout(leftMs, attempts - failures - 1))
        if ('reply' in result) return result.reply
        const { throttled = false } = result
        // One that says so is there: it is waited for as usual, even if this was a short look for one that was away.
        if (throttled) timeoutMs = settings.timeoutMs
        else failures++
        const delayMs = result.retryAfterMs ?? jittered(attempt, random())
        const elapsedMs = Math.max(performance.now() - startedMs, sleptMs)
        if (failures >= attempts || elapsedMs + delayMs >= timeoutMs) throw result.failure
        if (throttled) settings.onThrottled?.(delayMs)
        // Many programs are told the same time: they must not come back at once.
        const spreadMs = throttled ? random() * Math.min(delayMs, LONGEST_SPREAD_MS) : 0
        sleptMs += delayMs + spreadMs
        await sleep(delayMs + spreadMs)
      }
    },
  }
}

type Attempt<Name extends RouteName> =
  | { reply: ReplyOf<Name> }
  | { failure: ServiceFailure | ServiceThrottled; retryAfterMs: number | null; throttled?: boolean }

async function once<Name extends RouteName>(
  settings: TransportSettings,
  name: Name,
  sent: Sent<Name>,
  timeoutMs: number,
): Promise<Attempt<Name>> {
  const { method } = ROUTES[name]
  const url = urlOf(settings.baseUrl, name, sent)
  const headers = { authorization: `Bearer ${settings.apiKey}`, accept: 'application/json' }
  const request = {
    ...{ method, url, timeoutMs: Math.max(1, Math.ceil(timeoutMs)) },
    headers: sent.body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
    body: sent.body === undefined ? undefined : JSON.stringify(sent.body),
  }
  let answer: HttpAnswer
  try {
    answer = await settings.exchange(request)
  } catch (cause) {
    return failed(`${method} ${whereOf(url)} got no answer: ${reasonOf(cause)}; ${NOBODY_THERE}`, { cause })
  }
  const { status, body: text } = answer
  if (status >= 200 && status < 300) return replied(name, text, `${method} ${whereOf(url)}`)
  const problem = readProblem(text)
  if (status === 429) {
    const failure = new ServiceThrottled(`${method} ${whereOf(url)}`, problem, retryAfterMs(answer))
    return { failure, retryAfterMs: failure.retryAfterMs, throttled: true }
  }
  if (problem !== null && status >= 400 && status < 500) throw new ServiceRefusal(problem)
  return failed(
    `${method} ${whereOf(url)} answered ${status}${problem === null ? ' without problem details' : ` ${problem.code}`}`,
    {},
    status === 503 ? retryAfterMs(answer) : null,
  )
}

function replied<Name extends RouteName>(name: Name, text: string, what: string): Attempt<Name> {
  const parsed = parseJson(text)
  if (parsed === undefined) return failed(`${what} answered something that is not JSON; ${OTHER_SERVICE}`)
  const checked = ROUTES[name].reply.safeParse(parsed)
  if (checked.success) return { reply: checked.data as ReplyOf<Name> }
  // A newer service may say more than this client knows.
  const onlyMore = checked.error.issues.every((issue) => issue.code === 'unrecognized_keys')
  if (onlyMore) return { reply: parsed as ReplyOf<Name> }
  const issue = checked.error.issues[0]
  return failed(
    `${what} answered another shape than expected at ${issue?.path.join('.') || 'the top'}; ${OTHER_SERVICE}`,
  )
}

const NOBODY_THERE = 'check that the service runs, and that its address is right (COUNTERSIGN_API_URL)'
const OTHER_SERVICE = 'check that the address is that of a Countersign service (COUNTERSIGN_API_URL)'

function failed(message: string, options: ErrorOptions = {}, retryAfter: number | null = null) {
  return { failure: new ServiceFailure(message, options), retryAfterMs: retryAfter }
}

function urlOf(
  baseUrl: string,
  name: RouteName,
  { params = {}, query = {} }: Pick<Sent<RouteName>, 'params' | 'query'>,
): string {
  const path = pathOf(ROUTES[name], params)
  const search = new URLSearchParams(query).toString()
  return `${baseUrl.replace(/\/+$/, '')}${path}${search === '' ? '' : `?${search}`}`
}

/** Without what an address may hold besides, which is not for logs. */
function whereOf(url: string): string {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}

function readProblem(text: string): Problem | null {
  const checked = problemSchema.safeParse(parseJson(text))
  return checked.success ? checked.data : null
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** An answer that hangs must leave time for another attempt. */
function attemptTimeout(leftMs: number, attemptsLeft: number): number {
  return attemptsLeft > 0 ? leftMs / 2 : leftMs
}

function jittered(attempt: number, random: number): number {
  const ceiling = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1))
  return ceiling / 2 + (ceiling / 2) * random
}

function retryAfterMs({ retryAfter: value }: HttpAnswer): number | null {
  if (value === null) return null
  const seconds = Number(value)
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1_000)
  const at = Date.parse(value)
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now())
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  if (cause instanceof TimedOut) return 'timed out'
  return cause.cause instanceof Error ? `${cause.message}: ${messageOf(cause.cause)}` : messageOf(cause)
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
