import { randomUUID } from 'node:crypto'
import type { Decision, PendingCallView, Receipt, SessionStatus } from '@countersign/protocol'
import { messageOf } from '../../base/diagnostics.js'
import { ReplayContractError, ReplayKillError, ReplayUnavailableError } from '../../base/errors.js'
import { singleFlight } from '../../base/single-flight.js'
import { startAge } from '../../base/start-age.js'
import {
  type Authority,
  type Connection,
  type DecidedCall,
  NotOurs,
  type PreflightRequest,
  type PreflightResult,
  type ProposalRequest,
  type ProposalVerdict,
} from '../authority.js'
import { confirmIfOld } from '../confirm-if-old.js'
import type { LocalSession } from '../local/local-session.js'
import { errorOf, type StopReason } from '../refusals.js'
import { type CallLimits, ServiceFailure, ServiceRefusal, ServiceThrottled } from '../transport.js'
import { askAboutDoubt, type OnInDoubt, receiptsOfUnseen } from './catch-up.js'
import { completeDecision, underControls } from './complete-decision.js'
import { createControls } from './controls.js'
import { createLink, type LinkOptions } from './link.js'
import { awayIn, liveIn, type Mode } from './mode.js'
import { createOutbox } from './outbox.js'
import { createPreparedAhead } from './prepared-ahead.js'

export interface RemoteOptions extends LinkOptions {
  readonly onInDoubt: OnInDoubt | undefined
}

/** The model has answered: as long as `timeoutMs` allows, its answer waits for a server that is started again. */
const PATIENT: CallLimits = { attempts: 100 }

/** A program does not wait long for a session to end. */
const ENDING: CallLimits = { attempts: 2, timeoutMs: 2_000 }

/** Refusals that say no more than that this client is behind: it catches up and asks again. */
const BEHIND: ReadonlySet<string> = new Set(['STATE_STALE', 'PENDING_CALLS', 'SESSION_RECOVERING'])
const CATCH_UPS = 2

/** The server decides. While it cannot be asked, and `onError` is `allow`, a fork of the mirror of its session does. */
export function createRemote(options: RemoteOptions): Authority {
  const { api, local, onError, onInDoubt, report, isShared } = options
  const { plan, identity } = local
  const { sessionId: session_id } = identity
  const outbox = createOutbox()
  const controls = createControls(report, session_id)
  const link = createLink(options, controls)
  const { exchange, live, move, fork, mirror, follow, assertRunning, whenOpened } = link
  const resolving = singleFlight(resolveDoubt)
  const askOnce = askAboutDoubt(onInDoubt, report)
  const ahead = createPreparedAhead(isCertain)
  /** Requests that a control would make stale, were it sent now. */
  let prepared = 0

  const current = (): LocalSession => fork() ?? mirror()
  const saltOf: Authority['saltOf'] = (by) => (by === 'server' ? mirror() : current()).salt

  /** Nothing is on its way to the server, and nothing may come from another process. */
  function isCertain(): boolean {
    return link.mode().is === 'open' && !controls.hasUnsent() && !isShared
  }

  /** Once for all turns that wait. The program is asked once, even where the receipts must be sent again. */
  async function resolveDoubt(): Promise<void> {
    const doubt = live()
    if (doubt.is !== 'in_doubt') return
    const receipts = await askOnce(doubt.calls)
    await exchange((server) => server.submit(receipts, null))
    if (live() === doubt) move({ event: 'doubt_resolved' })
  }

  function submit(receipts: readonly Receipt[]) {
    const asked = ahead.ask()
    return exchange(
      (server, limits) => server.submit(receipts, asked?.next ?? null, limits),
      (reply) => {
        follow((session) => session.receive(receipts))
        const { results } = reply
        // Evidence of a session that still takes calls is late only where it comes from a former holder.
        if (results.some(({ late }) => late)) link.noteStop('lost')
        if (asked !== null) ahead.keep(asked, reply)
      },
    )
  }

  /** A refusal is what the program should hear; anything else is one more sign that the server is away. */
  async function deliverReceipts(): Promise<void> {
    const undelivered = await outbox.deliver(submit)
    if (undelivered === null) return
    const { why } = undelivered
    if (why instanceof ServiceRefusal) throw why
    const detail = `receipts of earlier calls could not be delivered: ${messageOf(why)}`
    throw new ServiceFailure(detail, { cause: why })
  }

  /** Everything that both sides must know before a request is prepared. */
  async function catchUp(request: PreflightRequest): Promise<void> {
    await link.open()
    if (live().is === 'in_doubt') await resolving.run()
    await controls.flush(exchange)
    await deliverReceipts()
    const behind = live()
    if (behind.is !== 'behind') return
    // What was decided here instead may still run; only a turn with tools has waited for it.
    const seesAll = !behind.unseen || request.tools.length > 0
    if (behind.unseen && seesAll) {
      const { pending } = await exchange((server) => server.load())
      const receipts = receiptsOfUnseen(pending, { outbox, request, salt: saltOf('server') })
      if (receipts.length > 0) await exchange((server) => server.submit(receipts, null))
    }
    const state = await exchange((server) => server.loadState())
    mirror().restore(state)
    // The server does not know yet what was changed here meanwhile.
    link.change(controls.replayOn)
    if (seesAll && live() === behind) move({ event: 'caught_up' })
  }

  async function prepareOnServer(request: PreflightRequest): Promise<PreflightResult> {
    for (let caughtUp = 0; ; caughtUp++) {
      try {
        await catchUp(request)
        return ahead.take(request) ?? (await preflight(request))
      } catch (error) {
        if (!(error instanceof ServiceRefusal) || !BEHIND.has(error.code) || caughtUp === CATCH_UPS) throw error
        const { pending: calls } = await exchange((server) => server.load())
        const unseen = error.code === 'PENDING_CALLS' || isShared
        const isDoubted = error.code === 'SESSION_RECOVERING' && calls.length > 0
        move(isDoubted ? { event: 'doubted', calls, unseen } : { event: 'diverged', unseen })
      }
    }
  }

  async function preflight(request: PreflightRequest): Promise<PreflightResult> {
    const id = `prq_${randomUUID()}`
    const reply = await exchange(
      (server, limits) => server.preflight(id, request, limits),
      (news) => {
        if (news.outcome !== 'blocked') return
        const { reason, detail = null } = news
        follow((session) => session.blockTurn({ prepared_request_id: id, reason, detail, model: request.model }))
      },
    )
    if (reply.outcome === 'blocked') {
      const { reason, detail, remedy } = reply
      return { outcome: 'blocked', by: 'server', reason, detail, remedy }
    }
    const { prepared_request_id: preparedRequestId, allowed, removed } = reply
    return { outcome: 'prepared', by: 'server', preparedRequestId, request, allowed, removed }
  }

  async function judgeOnServer(proposal: ProposalRequest): Promise<ProposalVerdict> {
    const { usage, model } = proposal.read
    const mirrored = controls.hasUnsent() ? mirror().fork({ watches: local.watches }) : null
    const labels = controls.hasUnsentLabel()
    const used = { model: model ?? proposal.prepared.request.model, usage }
    ahead.expect(proposal.prepared.request)
    const reply = await exchange(
      (server) => server.propose(proposal, used, onError === 'block' ? PATIENT : undefined),
      ({ decisions, proposal_id }) => {
        // What people are asked is in the server's state alone.
        if (decisions.some(isAboutPeople)) move({ event: 'diverged', unseen: false })
        else follow((session) => session.follow(proposal, decisions, proposal_id))
      },
    )
    const own = mirrored === null ? null : { decisions: mirrored.judge(proposal, reply.decisions), labels }
    const decisions = reply.decisions.map((decision) =>
      underControls(completeDecision(decision, plan, proposal, identity.asks), plan, own),
    )
    return { by: 'server', outcome: reply.outcome, decisions }
  }

  /** Where the session has moved on since the receipts that prepared the turn, the answer is judged as the session is now. */
  async function judgeAsPrepared(proposal: ProposalRequest): Promise<ProposalVerdict> {
    try {
      return await judgeOnServer(proposal)
    } catch (error) {
      if (!isRefusal(error, 'PREPARED_REQUEST_STALE') || !ahead.prepared(proposal.prepared)) throw error
      const again = await prepareOnServer(proposal.prepared.request)
      if (again.outcome === 'blocked') throw error
      return judgeOnServer({ ...proposal, prepared: again })
    }
  }

  /** A prepared request has been used, or will not be. */
  function release(): void {
    prepared = Math.max(0, prepared - 1)
    sendControlsSoon()
  }

  /** In the background: the next turn sends them in any case, and throws when that fails. */
  function sendControlsSoon(): void {
    if (prepared > 0) return
    whenOpened()
      .then((isOpen) => (isOpen && prepared === 0 ? controls.flush(exchange) : undefined))
      .catch(() => {})
  }

  async function claim(call: DecidedCall): Promise<void> {
    try {
      assertRunning()
      if (call.by === 'local') return
      call.claimId ??= `clm_${randomUUID()}`
      const { claimId } = call
      await exchange((server) => server.claim(call, claimId))
    } catch (error) {
      throw claimError(error)
    }
  }

  async function confirm({ pendingCallId }: DecidedCall): Promise<void> {
    assertRunning()
    try {
      const waiting = await pending()
      if (!waiting.some((call) => call.pending_call_id === pendingCallId && call.state === 'pending')) throw gone()
    } catch (error) {
      if (error instanceof ServiceRefusal) throw errorOf(error)
      if (error instanceof ReplayContractError) throw error
      const message = `the server could not confirm that the call may still run: ${messageOf(error)}`
      if (onError === 'block') throw new ReplayUnavailableError(message, { cause: error })
    }
  }

  async function pending(): Promise<readonly PendingCallView[]> {
    const loaded = await exchange((server) => server.load())
    return loaded.pending
  }

  /** Receipts, labels, filter and stops, as far as the server can be reached. */
  async function deliverAll(): Promise<void> {
    await Promise.all([outbox.deliver(submit), controls.stopsTried()])
    if (controls.hasUnsent() && (await whenOpened())) await controls.flush(exchange).catch(() => {})
  }

  return {
    plan,
    saltOf,
    current,
    open: link.open,
    async prepare(request) {
      assertRunning()
      prepared++
      try {
        const reply = await prepareOnServer(request)
        link.answered()
        if (reply.outcome === 'blocked') release()
        return reply
      } catch (error) {
        release()
        return link.decidesHere(error).preflight(request, `prq_${randomUUID()}`)
      }
    },
    async judge(proposal) {
      assertRunning()
      if (proposal.prepared.by === 'local') return judgeHere(fork() ?? link.newFork(), proposal)
      try {
        return await judgeAsPrepared(proposal)
      } catch (error) {
        if (isConsumed(error) && proposal.read.calls.length === 0) {
          move({ event: 'diverged', unseen: false })
          return { by: 'server', outcome: 'no_calls', decisions: [] }
        }
        try {
          return judgeHere(link.decidesHere(error), proposal)
        } finally {
          // The server may have accepted it: then its calls wait, and do not run.
          const isLost = error instanceof ServiceFailure || error instanceof ServiceThrottled
          if (isLost) move({ event: 'diverged', unseen: true })
        }
      } finally {
        release()
      }
    },
    abandon({ by }) {
      if (by === 'server') release()
    },
    async settle(by, evidence) {
      const receipts = evidence.map(({ receipt }) => receipt)
      if (by === 'local') {
        for (const item of evidence) outbox.remember(item)
        fork()?.receive(receipts)
        return
      }
      outbox.add(receipts)
      await outbox.deliver(submit)
    },
    async permit(call, exclusive) {
      const ageMs = exclusive ? startAge() : call.ageMs
      if (exclusive) await claim(call)
      if (call.by === 'server') await confirmIfOld(ageMs, () => confirm(call))
      assertRunning()
    },
    pending: async () => ((await whenOpened()) ? pending() : null),
    control(change) {
      if ('kill' in change) return link.kill(change.kill)
      if ('bypass' in change) return link.bypass(change.bypass)
      // An exact mirror has what the server has, and what is already on its way there.
      if ('label' in change && live().is === 'open' && mirror().state().labels.includes(change.label)) return
      link.change((session) => session.restrict(change))
      ahead.drop()
      controls.add(change)
      sendControlsSoon()
    },
    facts() {
      const mode = link.mode()
      const { errors, unguarded } = link.counts()
      return {
        status: (mode.is === 'stopped' ? STATUS_AFTER[mode.why] : undefined) ?? api.known().status,
        lost: mode.is === 'stopped' && mode.why === 'lost',
        connection: connectionIn(mode),
        degradedLocal: fork() !== null,
        undeliveredReceipts: outbox.count(),
        inDoubt: inDoubtIn(mode),
        unguardedCalls: unguarded,
        errors,
      }
    },
    flush: deliverAll,
    // Another process may go on with a session that is shared.
    async close(ends = !isShared) {
      await deliverAll()
      const kept = await outbox.insist(submit)
      if (kept > 0) report({ type: 'replay_degraded', session_id, detail: keptBack(kept) })
      // Where this cannot be said now, the lease of the session ends by itself.
      const { is } = link.mode()
      if (ends && is !== 'stopped' && is !== 'away' && (await whenOpened())) await api.end(ENDING).catch(() => {})
      outbox.stop()
    },
  }
}

const STATUS_AFTER: Readonly<Partial<Record<StopReason, SessionStatus>>> = {
  killed: 'KILLED',
  compromised: 'COMPROMISED',
}

function connectionIn(mode: Mode): Connection {
  const live = liveIn(mode)
  if (awayIn(mode) !== null) return 'down'
  if (live.is !== 'new' || live.create === 'refused') return 'up'
  return live.create === 'unanswered' ? 'down' : 'untried'
}

function inDoubtIn(mode: Mode): number {
  const live = liveIn(mode)
  return live.is === 'in_doubt' ? live.calls.length : 0
}

const keptBack = (receipts: number): string =>
  `the session ends with ${receipts} ${receipts === 1 ? 'receipt' : 'receipts'} that the quota kept back: the server has no outcome of their calls`

const isAboutPeople = ({ question, approval }: Decision): boolean => question !== undefined || approval !== undefined

/** The answer to an accepted proposal was lost. Where nothing was called, there was nothing to learn from it. */
const isConsumed = (error: unknown): boolean => isRefusal(error, 'PREPARED_REQUEST_CONSUMED')

const isRefusal = (error: unknown, code: ServiceRefusal['code']): boolean =>
  error instanceof ServiceRefusal && error.code === code

function judgeHere(session: LocalSession, proposal: ProposalRequest): ProposalVerdict {
  return session.propose(proposal, { proposalId: `prp_${randomUUID()}`, pendingCallId: () => `pnd_${randomUUID()}` })
}

/** Another holder has taken the session over, or the call has an outcome: it may have run already. */
const gone = (): ReplayContractError =>
  new ReplayContractError('the call is no longer pending for this client', {
    outcome: 'blocked',
    decisions: [],
    blocked: [],
  })

/** A call that the server no longer knows as waiting was settled, as one that another has taken will be. */
function claimError(error: unknown): Error {
  const refusal = error instanceof ServiceRefusal ? (error.code === 'NOT_FOUND' ? gone() : errorOf(error)) : error
  if (refusal instanceof ReplayUnavailableError) return refusal
  if (refusal instanceof ReplayContractError || refusal instanceof ReplayKillError) return new NotOurs(refusal.message)
  const message = `the server could not say whether the call is free to run, so that it did not run: ${messageOf(error)}`
  return new ReplayUnavailableError(message, { cause: error })
}
