import { randomUUID } from 'node:crypto'
import type { SessionStatus } from '@countersign/protocol'
import type { Report } from '../../base/diagnostics.js'
import type { Authority, Connection, KillCause, ProposalRequest, ProposalVerdict } from '../authority.js'
import { blockedDecision } from '../blocked-decision.js'
import type { LocalSession, LocalSessionOptions } from '../local/local-session.js'
import { type StopReason, stopError, stopReasonIn, stopReasonOf } from '../refusals.js'
import { snapshotWith } from '../snapshot-with.js'
import { type CallLimits, ServiceFailure, ServiceRefusal, ServiceThrottled } from '../transport.js'
import { type ClientEvent, type ClientState, createClientState } from './client-state.js'
import { completeDecision, deniedSince } from './complete-decision.js'
import { createControls } from './controls.js'
import type { OnInDoubt } from './in-doubt.js'
import { createOutage } from './outage.js'
import { createReceiptOutbox } from './receipt-outbox.js'
import type { ServerSession } from './server-session.js'
import { createServerSync } from './server-sync.js'
import { createSessionReplica } from './session-replica.js'
import { createWaitingCalls } from './waiting-calls.js'

export interface GovernedOptions {
  readonly server: ServerSession
  readonly local: LocalSessionOptions
  readonly onError: 'block' | 'allow'
  readonly maxUnguardedCalls: number
  readonly onInDoubt: OnInDoubt | undefined
  readonly report: Report
  readonly onKilled: (cause: KillCause) => void
  /** What is decided here for want of the server is only reported. */
  readonly advises?: boolean
  /** Several processes hold the session. */
  readonly isShared?: boolean
}

/** While the server is away, one short attempt shows whether it is back. */
const PROBE: CallLimits = { attempts: 1, timeoutMs: 2_000 }

/** The model has answered: as long as `timeoutMs` allows, its answer waits for a server that is started again. */
const PATIENT: CallLimits = { attempts: 100 }

/** Nobody waits long for a session to end. */
const ENDING: CallLimits = { attempts: 2, timeoutMs: 2_000 }

const STOP_EVENTS: Readonly<Record<StopReason, ClientEvent>> = {
  killed: 'killed',
  compromised: 'compromised',
  lost: 'holder_lost',
}

const STATUS_AFTER: Readonly<Partial<Record<ClientState['stop'], SessionStatus>>> = {
  killed: 'KILLED',
  compromised: 'COMPROMISED',
}

/** The server decides. While it cannot be asked, and `onError` is `allow`, a replica of its session does. */
export function createGovernedAuthority(options: GovernedOptions): Authority {
  const { server, report } = options
  const { sessionId } = options.local.identity
  const client = createClientState((error) => {
    const detail = `${error.message}; the session takes no more calls`
    report({ type: 'replay_degraded', session_id: sessionId, detail })
  })
  const replica = createSessionReplica({ local: options.local, server, client, advises: options.advises ?? false })

  const limits = (): CallLimits | undefined => (client.now().server === 'alone' ? PROBE : undefined)
  const outage = createOutage({
    sessionId,
    client,
    onError: options.onError,
    maxUnguardedCalls: options.maxUnguardedCalls,
    report,
    onRefusal: (found) => noteStop(found),
    onTooMany: () => kill('unguarded'),
  })
  const outbox = createReceiptOutbox({
    async send(receipts) {
      const { status, results } = await server.submit(receipts, limits())
      replica.follow((mirror) => mirror.receive(receipts))
      // Evidence of a session that still takes calls is late only where it comes from a former holder.
      noteStop(stopReasonOf(status) ?? (results.some(({ late }) => late) ? 'lost' : null))
    },
    onFailure: outage.failed,
    onRefusal: (error) => noteStop(stopReasonIn(error)),
  })
  const sync = createServerSync({
    server,
    client,
    replica,
    outbox,
    controls: () => controls,
    limits,
    onInDoubt: options.onInDoubt,
    onOpened: () => noteStop(stopReasonOf(server.known().status)),
    report,
    isShared: options.isShared ?? false,
  })
  const controls = createControls({
    server,
    report,
    sessionId,
    limits,
    opened: sync.whenOpened,
    outcome: sync.outcome,
  })

  const waiting = createWaitingCalls({ server, onError: options.onError, onFailure: outage.failed, noteStop })

  /** The session takes no more calls, where a reason was found. The first kill ends it for good. */
  function noteStop(found: StopReason | null, cause: KillCause = 'server'): void {
    const { stop } = client.now()
    if (found === null || stop === found || stop === 'killed') return
    client.move(STOP_EVENTS[found])
    if (found !== 'killed') return
    replica.change((session) => session.kill('client'))
    options.onKilled(cause)
  }

  function assertRunning(): void {
    const { stop } = client.now()
    if (stop !== 'none') throw stopError(stop)
  }

  function kill(cause: KillCause): void {
    noteStop('killed', cause)
    controls.kill()
  }

  /** Decides here instead, if that is allowed; or ends the call. */
  function withoutServer<T>(error: unknown, decide: (local: LocalSession) => T): T {
    outage.assertMayDecideHere(error)
    return decide(replica.fork())
  }

  async function proposeToServer(proposal: ProposalRequest): Promise<ProposalVerdict> {
    const { usage, model } = proposal.read
    const { plan } = options.local
    const denied = controls.hasUnsent() ? deniedSince(options.local, replica.current().state(), proposal) : NONE
    const used = { model: model ?? proposal.prepared.request.model, usage }
    const reply = await server.propose(proposal, used, options.onError === 'block' ? PATIENT : undefined)
    replica.follow((mirror) => mirror.follow(proposal, reply.decisions, reply.proposal_id))
    noteStop(stopReasonOf(reply.status))
    const decisions = reply.decisions.map((decision) => {
      const remedy = decision.decision === 'allow' ? denied.get(decision.tool_name) : undefined
      if (remedy !== undefined) return blockedDecision(decision, 'forbidden_tool', remedy)
      return completeDecision(decision, plan, proposal)
    })
    return { by: 'server', outcome: reply.outcome, decisions }
  }

  /** Receipts, labels, filter and stops, as far as the server can be reached. */
  async function deliverAll(): Promise<void> {
    await Promise.all([outbox.deliver(), controls.stopsTried()])
    if (!controls.hasUnsent() || !(await sync.whenOpened())) return
    try {
      await controls.flush()
    } catch (error) {
      // A session that was stopped takes no more.
      if (!(error instanceof ServiceRefusal)) outage.failed(error)
    }
  }

  /** Where this cannot be said now, the lease of the session ends by itself. */
  async function endOnServer(): Promise<void> {
    const { stop, server: answers } = client.now()
    if (stop !== 'none' || answers !== 'reachable' || !(await sync.whenOpened())) return
    await server.end(ENDING).catch(() => {})
  }

  return {
    plan: options.local.plan,
    saltOf: replica.saltOf,
    start: sync.open,
    async preflight(request) {
      assertRunning()
      controls.hold()
      try {
        const reply = await sync.preflight(request)
        outage.ended()
        replica.dropFork()
        if (reply.outcome === 'blocked') {
          controls.release()
          noteStop(stopReasonOf(server.known().status))
        }
        return reply
      } catch (error) {
        controls.release()
        return withoutServer(error, (local) => local.preflight(request, `prq_${randomUUID()}`))
      }
    },
    async propose(proposal) {
      assertRunning()
      if (proposal.prepared.by === 'local') return proposeTo(replica.forkOrPassing(), proposal)
      try {
        return await proposeToServer(proposal)
      } catch (error) {
        if (isConsumed(error) && proposal.read.calls.length === 0) {
          client.move('replica_diverged')
          return { by: 'server', outcome: 'no_calls', decisions: [] }
        }
        if (error instanceof ServiceFailure || error instanceof ServiceThrottled) client.move('answer_lost')
        return withoutServer(error, (local) => proposeTo(local, proposal))
      } finally {
        controls.release()
      }
    },
    abandon(prepared) {
      if (prepared.by === 'server') controls.release()
    },
    async submit(by, evidence) {
      const receipts = evidence.map(({ receipt }) => receipt)
      if (by === 'local') {
        for (const item of evidence) outbox.remember(item)
        replica.forked()?.receive(receipts)
        return
      }
      outbox.add(receipts)
      await outbox.deliver()
    },
    assertRunning,
    async confirm({ by, pendingCallId }) {
      assertRunning()
      if (by === 'local') return
      await waiting.confirm(pendingCallId)
      assertRunning()
    },
    async claim({ by, ...call }) {
      assertRunning()
      if (by !== 'local') await waiting.claim(call)
    },
    waiting: async () => ((await sync.whenOpened()) ? waiting.load() : null),
    addLabel(label) {
      replica.change((session) => session.addLabel(label))
      controls.addLabel(label)
    },
    setFilter(tools) {
      replica.change((session) => session.setFilter(tools))
      controls.setFilter(tools)
    },
    kill,
    reportBypass(method) {
      if (client.now().stop !== 'none') return
      client.move('compromised')
      replica.change((session) => session.bypass(method))
      controls.reportBypass(method)
    },
    snapshot(lastNarrowing) {
      const local = replica.current()
      const killed = client.now().stop === 'killed'
      const unguardedCalls = outage.counts().unguarded
      return snapshotWith(local.state(), local.plan, { sessionId, lastNarrowing, killed, unguardedCalls })
    },
    current: replica.current,
    facts: () => ({
      status: STATUS_AFTER[client.now().stop] ?? server.known().status,
      lost: client.now().stop === 'lost',
      connection: connectionOf(client.now()),
      degradedLocal: client.now().server === 'alone',
      undeliveredReceipts: outbox.count(),
      inDoubt: sync.inDoubt(),
      unguardedCalls: outage.counts().unguarded,
      errors: outage.counts().errors,
    }),
    flush: deliverAll,
    // Another process may go on with a session that is shared.
    async close(ends = options.isShared !== true) {
      await deliverAll()
      const kept = await outbox.insist()
      if (kept > 0) report({ type: 'replay_degraded', session_id: sessionId, detail: keptBack(kept) })
      if (ends) await endOnServer()
      outbox.stop()
    },
  }
}

const NONE: ReadonlyMap<string, string> = new Map()

const keptBack = (receipts: number): string =>
  `the session ends with ${receipts} ${receipts === 1 ? 'receipt' : 'receipts'} that the quota kept back: the server has no outcome of their calls`

function connectionOf({ session, server }: ClientState): Connection {
  if (server !== 'reachable' || session === 'unanswered') return 'down'
  return session === 'unopened' ? 'untried' : 'up'
}

/** The answer to an accepted proposal was lost. Where nothing was called, there was nothing to learn from it. */
const isConsumed = (error: unknown): boolean =>
  error instanceof ServiceRefusal && error.code === 'PREPARED_REQUEST_CONSUMED'

function proposeTo(local: LocalSession, proposal: ProposalRequest): ProposalVerdict {
  return local.propose(proposal, { proposalId: `prp_${randomUUID()}`, pendingCallId: () => `pnd_${randomUUID()}` })
}
