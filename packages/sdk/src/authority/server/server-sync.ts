import { randomUUID } from 'node:crypto'
import type { PendingCallView, Receipt } from '@countersign/protocol'
import { messageOf, type Report } from '../../base/diagnostics.js'
import { singleFlight } from '../../base/single-flight.js'
import type { PreflightRequest, PreflightResult } from '../authority.js'
import { type CallLimits, ServiceFailure, ServiceRefusal, ServiceThrottled } from '../transport.js'
import type { ClientState, ClientStateHolder } from './client-state.js'
import type { Controls } from './controls.js'
import { type OnInDoubt, receiptInDoubt, resolveInDoubt } from './in-doubt.js'
import type { ReceiptOutbox } from './receipt-outbox.js'
import type { ServerSession } from './server-session.js'
import type { SessionReplica } from './session-replica.js'

/** Opens the session on the server, and brings both sides together before a request is prepared. */
export interface ServerSync {
  /** Opens the session once; an attempt that failed is made again by the next turn. */
  open(): Promise<void>
  /** Resolves to true once the session exists on the server, to false when it could not be opened. */
  whenOpened(): Promise<boolean>
  /** What has become of the opening, once none is under way. */
  outcome(): Promise<ClientState['session']>
  /** Catches up with the server, then has the request prepared. Throws what the transport throws. */
  preflight(request: PreflightRequest): Promise<PreflightResult>
  /** Calls that an earlier holder left behind, and whose outcome is not known. */
  inDoubt(): number
}

export interface ServerSyncOptions {
  readonly server: ServerSession
  readonly client: ClientStateHolder
  readonly replica: SessionReplica
  readonly outbox: ReceiptOutbox
  readonly controls: () => Controls
  readonly limits: () => CallLimits | undefined
  readonly onInDoubt: OnInDoubt | undefined
  readonly onOpened: () => void
  readonly report: Report
  /** Several processes hold the session: what waits on the server may be another's, and the request tells its outcome. */
  readonly isShared: boolean
}

/** Refusals that say no more than that this client is behind: it catches up and asks again. */
const BEHIND: ReadonlySet<string> = new Set(['STATE_STALE', 'PENDING_CALLS', 'SESSION_RECOVERING'])
const CATCH_UPS = 2

/** Calls of an earlier holder, and what the program says of them once it was asked: it is asked once. */
interface Doubt {
  readonly calls: readonly PendingCallView[]
  answers: Promise<Receipt[]> | null
}

export function createServerSync(options: ServerSyncOptions): ServerSync {
  const { server, client, replica, outbox, limits } = options
  let doubt: Doubt = { calls: [], answers: null }
  const opening = singleFlight(openSession)
  const resolving = singleFlight(reportDoubted)

  const isOpen = (): boolean => client.now().session === 'open'

  async function open(): Promise<void> {
    if (!isOpen()) await opening.run()
  }

  async function openSession(): Promise<void> {
    const opened = await server.open(limits()).catch((error: unknown) => {
      // An attempt before the one that was throttled may have been lost on its way back.
      const isAnswered = error instanceof ServiceRefusal && !(error instanceof ServiceThrottled)
      client.move(isAnswered ? 'create_refused' : 'create_unanswered')
      throw error
    })
    options.controls().replayOn(replica.begin(opened))
    setDoubt(opened.inDoubt)
    if (options.isShared && !opened.fresh) client.move('answer_lost')
    options.onOpened()
  }

  function setDoubt(calls: readonly PendingCallView[]): void {
    doubt = { calls, answers: null }
    client.move(calls.length > 0 ? 'doubt_found' : 'doubt_resolved')
  }

  /** Everything that must have reached the server before a request is prepared. */
  async function catchUp(request: PreflightRequest): Promise<void> {
    const { tools } = request
    await open()
    if (client.now().earlierCalls === 'in_doubt') await resolving.run()
    await options.controls().flush()
    await deliverReceipts()
    // What was decided here instead may still run; only a turn with tools has waited for it.
    if (client.now().answer === 'lost' && tools.length > 0) await resolveUnseen(request)
    else if (client.now().answer === 'lost') client.move('replica_diverged')
    if (client.now().replica === 'exact') return
    replica.adopt(await server.loadState())
    // The server does not know yet what was changed here meanwhile.
    replica.change((session) => options.controls().replayOn(session))
  }

  /** A refusal is what the program should hear; anything else is one more sign that the server is away. */
  async function deliverReceipts(): Promise<void> {
    const delivery = await outbox.deliver()
    if (delivery.delivered) return
    const { why } = delivery
    if (why instanceof ServiceRefusal) throw why
    const detail = `receipts of earlier calls could not be delivered: ${messageOf(why)}`
    throw new ServiceFailure(detail, { cause: why })
  }

  /** Once for all turns that wait. The program is asked once, even where the receipts must be sent again. */
  async function reportDoubted(): Promise<void> {
    const found = doubt
    found.answers ??= resolveInDoubt(found.calls, options.onInDoubt, options.report)
    await server.submit(await found.answers)
    setDoubt([])
    client.move('replica_diverged')
  }

  async function resolveUnseen({ reported }: PreflightRequest): Promise<void> {
    const { pending } = await server.load()
    const salt = replica.saltOf('server')
    const receipts = pending.map(
      (call) => outbox.evidenceFor(call) ?? reported?.(call, salt) ?? receiptInDoubt(call, 'not_executed'),
    )
    if (receipts.length > 0) await server.submit(receipts)
    client.move('lost_answer_resolved')
    client.move('replica_diverged')
  }

  async function prepare(request: PreflightRequest): Promise<PreflightResult> {
    await catchUp(request)
    const id = `prq_${randomUUID()}`
    const reply = await server.preflight(id, request, limits())
    if (reply.outcome === 'blocked') {
      const { reason, detail, remedy } = reply
      const body = { prepared_request_id: id, reason, detail: detail ?? null, model: request.model }
      replica.follow((mirror) => mirror.blockTurn(body))
      return { outcome: 'blocked', by: 'server', reason, detail, remedy }
    }
    const { prepared_request_id: preparedRequestId, allowed, removed } = reply
    return { outcome: 'prepared', by: 'server', preparedRequestId, request, allowed, removed }
  }

  /** What a refusal says about where the server is. */
  async function learnFrom(refusal: ServiceRefusal): Promise<void> {
    const { pending } = await server.load()
    if (refusal.code === 'PENDING_CALLS' || options.isShared) client.move('answer_lost')
    if (refusal.code === 'SESSION_RECOVERING') setDoubt(pending)
    client.move('replica_diverged')
  }

  return {
    open,
    async whenOpened() {
      await opening.underWay()?.catch(() => {})
      return isOpen()
    },
    async outcome() {
      await opening.underWay()?.catch(() => {})
      return client.now().session
    },
    async preflight(request) {
      for (let caughtUp = 0; ; caughtUp++) {
        try {
          return await prepare(request)
        } catch (error) {
          if (!(error instanceof ServiceRefusal) || !BEHIND.has(error.code) || caughtUp === CATCH_UPS) throw error
          await learnFrom(error)
        }
      }
    },
    inDoubt: () => doubt.calls.length,
  }
}
