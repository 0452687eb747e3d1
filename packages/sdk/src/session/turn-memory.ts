import { hash } from 'node:crypto'

/** A request as it is on the wire. */
export interface WireRequest {
  readonly url: string
  readonly headers: Headers
  readonly body: string
  /** How it is sent, but for the body. */
  readonly init: RequestInit
}

/** Answers to requests that a client may send again, because it gave up waiting. */
export interface TurnMemory {
  /** Runs the turn, or gives the answer of the attempt before where this request is its retry. */
  remember(request: WireRequest, turn: () => Promise<WireAnswer>): Promise<Response>
}

/** What a turn gives. A stream, and what failed before anything was judged, is there once. */
export type WireAnswer = { readonly once: Response } | { readonly again: () => Response }

/** Clients retry at once: few requests lie between the attempts. */
const REMEMBERED = 8

export function createTurnMemory(): TurnMemory {
  const turns = new Map<string, Promise<WireAnswer>>()
  return {
    async remember(request, turn) {
      const key = keyOf(request)
      const before = isRetry(request) ? turns.get(key) : undefined
      if (before !== undefined) return responseIn(await before)
      const made = turn()
      turns.delete(key)
      turns.set(key, made)
      if (turns.size > REMEMBERED) turns.delete(turns.keys().next().value ?? '')
      const forget = (): void => {
        if (turns.get(key) === made) turns.delete(key)
      }
      made.then((answer) => 'again' in answer || forget(), forget)
      return responseIn(await made)
    },
  }
}

/** Most bodies are short and cost less to keep than to digest. A session holds on to no long one. */
const LONGEST_KEPT = 4_096

function keyOf({ url, body }: WireRequest): string {
  const text = `${url}\n${body}`
  return text.length > LONGEST_KEPT ? hash('sha256', text, 'base64url') : text
}

const responseIn = (answer: WireAnswer): Response => ('again' in answer ? answer.again() : answer.once)

/** Both official clients number their attempts. */
const isRetry = ({ headers }: WireRequest): boolean => Number(headers.get('x-stainless-retry-count') ?? 0) > 0
