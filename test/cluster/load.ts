import { setTimeout as sleep } from 'node:timers/promises'
import type { LedgerHead, Reply, Routes } from '@countersign/protocol'
import type { Sql } from '../../packages/server/src/postgres/sql.js'
import { checkSession } from '../support/model/session-checker.js'
import { type GovernedSession, LOOKUP, openSession, receiptFor, reserve } from '../support/runtime/governed-session.js'
import { exportOf } from '../support/runtime/ledger-export.js'
import { type Answer, type Api, createApi } from '../support/runtime/runtime.js'

/** What one client was told, to be held against what is stored in the end. */
export interface Claims {
  readonly session: GovernedSession
  readonly heads: LedgerHead[]
  readonly receipts: string[]
  /** When each acknowledged write was sent and acknowledged. */
  readonly writes: { sentMs: number; acknowledgedMs: number }[]
  /** What was refused or got no answer, and how long that took. */
  readonly refusals: { code: string; tookMs: number }[]
  /** Two proposals for one prepared request were both accepted. */
  usedTwice: number
  killedMs: number | null
  allowsAfterKill: number
}

/** The routes of one of several instances, another one for each request. */
export function apiOverAll(origins: () => readonly string[], key: string): Api {
  let turn = 0
  return createApi((input, init) => {
    const request = new Request(input, init)
    const { pathname, search } = new URL(request.url)
    const all = origins()
    const origin = all[turn++ % all.length]
    return fetch(new Request(new URL(pathname + search, origin), request), { signal: AbortSignal.timeout(60_000) })
  }, key)
}

export async function openClaims(api: Api, given: Parameters<typeof openSession>[1] = {}): Promise<Claims> {
  const session = await retried(() => openSession(api, { agent: 'cluster', ...given }))
  return {
    session,
    heads: [],
    receipts: [],
    writes: [],
    refusals: [],
    usedTwice: 0,
    killedMs: null,
    allowsAfterKill: 0,
  }
}

/** As a client would: a cluster that has just recovered may change its mind once more. */
async function retried<T>(attempt: () => Promise<T>, withinMs = 60_000): Promise<T> {
  const end = performance.now() + withinMs
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (performance.now() > end) throw error
      await sleep(200)
    }
  }
}

class Refused extends Error {}

/** Sends, and notes what was refused. */
async function send<Body>(claims: Claims, request: () => Promise<Answer<Body>>): Promise<Answer<Body>> {
  const sentMs = performance.now()
  const refuse = (code: string) => {
    claims.refusals.push({ code, tookMs: performance.now() - sentMs })
    throw new Refused(code)
  }
  const answer = await request().catch((error: Error) => refuse(error.name))
  if (answer.status >= 500) refuse(String(answer.problem.code))
  return answer
}

type Proposed = Reply<Routes['propose']>

/** Turns without end, until asked to stop. Every fourth prepared request is used by two proposals at once. */
export async function work(claims: Claims, isOver: () => boolean): Promise<void> {
  const { session } = claims
  for (let turn = 0; !isOver(); turn += 1) {
    try {
      const prepared = await send(claims, () => session.preflight())
      if (prepared.status !== 200 || prepared.body.outcome !== 'prepared') throw new Refused('not prepared')
      const { prepared_request_id } = prepared.body
      const sentMs = performance.now()
      const proposals = [[LOOKUP, reserve(0.001)], ...(turn % 4 === 0 ? [[reserve(0.002)]] : [])].map((calls) =>
        send(claims, () => session.propose(prepared_request_id, calls)),
      )
      const answers = (await Promise.allSettled(proposals)).flatMap((settled) =>
        settled.status === 'fulfilled' && settled.value.status === 200 ? [settled.value.body] : [],
      )
      if (answers.length > 1) claims.usedTwice += 1
      for (const answer of answers) noteProposal(claims, answer, sentMs)
      const [accepted] = answers
      if (accepted === undefined) throw new Refused('not proposed')
      await settle(claims, accepted)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      if (claims.killedMs !== null) return
      await sleep(50)
      await goOn(session).catch(() => {})
    }
    await sleep(5)
  }
}

function noteProposal(claims: Claims, { ledger, decisions }: Proposed, sentMs: number): void {
  claims.heads.push(ledger)
  claims.writes.push({ sentMs, acknowledgedMs: performance.now() })
  const isAllowed = decisions.some(({ pending_call_id }) => pending_call_id !== null)
  if (isAllowed && claims.killedMs !== null && sentMs > claims.killedMs) claims.allowsAfterKill += 1
}

async function settle(claims: Claims, { decisions }: Proposed): Promise<void> {
  const { session } = claims
  const receipts = decisions.filter(({ pending_call_id }) => pending_call_id !== null).map((one) => receiptFor(one))
  if (receipts.length === 0) return
  const sentMs = performance.now()
  const answer = await send(claims, () => session.receipts(receipts))
  if (answer.status !== 200) throw new Refused('not received')
  claims.heads.push(answer.body.ledger)
  claims.writes.push({ sentMs, acknowledgedMs: performance.now() })
  claims.receipts.push(...receipts.map(({ pending_call_id }) => pending_call_id))
  session.stateVersion = answer.body.state_version
}

/** After a failure: what is pending is settled, and the version taken from the server, as the SDK would. */
export async function goOn(session: GovernedSession): Promise<void> {
  const { session: view, pending = [] } = await session.load()
  session.stateVersion = view.state_version
  const receipts = pending.map(({ pending_call_id, argument_hash }) => ({
    pending_call_id,
    argument_hash,
    outcome: 'unknown' as const,
    evidence_level: 'reported' as const,
  }))
  if (receipts.length > 0) await session.receipts(receipts)
}

/** Kills the session, however often it takes until that is acknowledged. */
export async function killUntilDone(claims: Claims, withinMs = 180_000): Promise<void> {
  const end = performance.now() + withinMs
  while (performance.now() < end) {
    const { api, sessionId } = claims.session
    const answer = await api
      .killSession({ params: { session_id: sessionId }, body: { reason: 'test' } })
      .catch(() => null)
    if (answer?.status === 200) {
      claims.killedMs = performance.now()
      return
    }
    await sleep(50)
  }
  throw new Error('no kill was accepted any more')
}

export interface Verdict {
  acknowledged: number
  lost: number
  usedTwice: number
  allowsAfterKill: number
  problems: string[]
}

/** Reads every ledger and holds it against what the clients were told. */
export async function judge(all: readonly Claims[], sql: Sql): Promise<Verdict> {
  const verdict: Verdict = { acknowledged: 0, lost: 0, usedTwice: 0, allowsAfterKill: 0, problems: [] }
  for (const claims of all) {
    const { session, heads, receipts, killedMs } = claims
    const exported = await exportOf(session.api, session.sessionId)
    const hashes = new Map(exported.events.map(({ seq, hash }) => [seq, hash]))
    const rows = await sql<{ pendingCallId: string }[]>`
      select pending_call_id from receipts where session_id = ${session.sessionId}`
    const stored = new Set(rows.map(({ pendingCallId }) => pendingCallId))
    verdict.acknowledged += heads.length + receipts.length + (killedMs === null ? 0 : 1)
    const { status } = exported.state as { status?: string }
    const lost = [
      ...heads.filter(({ seq, hash }) => hashes.get(seq) !== hash).map(({ seq }) => `event ${seq}`),
      ...receipts.filter((id) => !stored.has(id)).map((id) => `receipt of ${id}`),
      ...(killedMs !== null && status !== 'KILLED' ? ['kill'] : []),
    ]
    verdict.lost += lost.length
    if (lost.length > 0) verdict.problems.push(`${session.sessionId} of ${exported.head.seq} lost ${lost.join(', ')}`)
    verdict.usedTwice += claims.usedTwice
    verdict.allowsAfterKill += claims.allowsAfterKill
    verdict.problems.push(...(await checkSession(sql, session.sessionId, exported)))
  }
  return verdict
}
