import { randomUUID } from 'node:crypto'
import type { PendingCallView, Receipt } from '@countersign/protocol'
import type { Report } from '../../base/diagnostics.js'
import type { PreflightRequest, PreflightResult } from '../authority.js'
import { type CallLimits, ServiceFailure, ServiceRefusal } from '../transport.js'
import type { Controls } from './controls.js'
import { type OnInDoubt, receiptInDoubt, resolveInDoubt } from './in-doubt.js'
import type { ReceiptOutbox } from './receipt-outbox.js'
import type { ServerSession } from './server-session.js'
import type { SessionReplica } from './session-replica.js'

/** Keeps the server's session and this client's view of it together: opens it, and catches up before a request. */
export interface ServerSync {
  /** Opens the session once; an attempt that failed is made again by the next turn. */
  open(): Promise<void>
  /** True once the server has told of the session. */
  isOpen(): boolean
  /** Resolves to true once the session exists on the server, to false when it could not be opened. */
  settled(): Promise<boolean>
  /** Resolves to true unless the server has no such session, as far as can be told: the answer to its create may be lost. */
  mayExist(): Promise<boolean>
  /** Catches up with the server, then has the request prepared. Throws what the transport throws. */
  preflight(request: PreflightRequest): Promise<PreflightResult>
  /** The answer to a proposal never came: if the server accepted it, its calls wait although nobody runs them. */
  answerLost(): void
  /** Calls that an earlier holder left behind, and whose outcome is not known. */
  inDoubt(): number
}

export interface ServerSyncOptions {
  readonly server: ServerSession
  readonly copy: SessionReplica
  readonly owed: ReceiptOutbox
  readonly controls: () => Controls
  readonly limits: () => CallLimits | undefined
  readonly onInDoubt: OnInDoubt | undefined
  readonly onOpened: () => void
  readonly report: Report
}

/** Refusals that say no more than that this client is behind: it catches up and asks again. */
const BEHIND: ReadonlySet<string> = new Set(['STATE_STALE', 'PENDING_CALLS', 'SESSION_RECOVERING'])
const CATCH_UPS = 2

export function createServerSync(options: ServerSyncOptions): ServerSync {
  const { server, copy, owed, limits } = options
  let opening: Promise<void> | null = null
  let isOpen = false
  let isUnanswered = false
  let inDoubt: readonly PendingCallView[] = []
  let answers: Promise<Receipt[]> | null = null
  let settling: Promise<void> | null = null
  let isAnswerLost = false

  async function open(): Promise<void> {
    if (isOpen) return
    opening ??= openSession().finally(() => {
      opening = null
    })
    await opening
  }

  async function openSession(): Promise<void> {
    const opened = await server.open(limits()).catch((error: unknown) => {
      isUnanswered = error instanceof ServiceFailure
      throw error
    })
    options.controls().replayOn(copy.begin(opened))
    inDoubt = opened.inDoubt
    isOpen = true
    options.onOpened()
  }

  /** Everything that must have reached the server before a request is prepared. */
  async function catchUp({ tools }: PreflightRequest): Promise<void> {
    await open()
    if (inDoubt.length > 0) await settleDoubt()
    await options.controls().flush()
    if (!(await owed.deliver())) throw new ServiceFailure('receipts of earlier calls could not be delivered')
    // What was decided here instead may still run; only a turn with tools has waited for it.
    if (isAnswerLost && tools.length > 0) await resolveUnseen()
    else if (isAnswerLost) copy.doubt()
    if (copy.isExact()) return
    copy.adopt(await server.loadState())
    // What was said here meanwhile the server does not know yet.
    copy.change((session) => options.controls().replayOn(session))
  }

  /** Once for all turns that wait. The program is asked once, too, also where the server must be told again. */
  async function settleDoubt(): Promise<void> {
    settling ??= tellDoubted().finally(() => {
      settling = null
    })
    await settling
  }

  async function tellDoubted(): Promise<void> {
    answers ??= resolveInDoubt(inDoubt, options.onInDoubt, options.report)
    await server.submit(await answers)
    inDoubt = []
    answers = null
    copy.doubt()
  }

  async function resolveUnseen(): Promise<void> {
    const { pending } = await server.load()
    const receipts = pending.map((call) => owed.evidenceFor(call) ?? receiptInDoubt(call, 'not_executed'))
    if (receipts.length > 0) await server.submit(receipts)
    isAnswerLost = false
    copy.doubt()
  }

  async function prepare(request: PreflightRequest): Promise<PreflightResult> {
    await catchUp(request)
    const reply = await server.preflight(`prq_${randomUUID()}`, request, limits())
    if (reply.outcome === 'blocked') {
      return { outcome: 'blocked', by: 'server', reason: reply.reason, detail: reply.detail, remedy: reply.remedy }
    }
    const { prepared_request_id: preparedRequestId, allowed, removed } = reply
    return { outcome: 'prepared', by: 'server', preparedRequestId, request, allowed, removed }
  }

  /** What a refusal says about where the server is. */
  async function learnFrom(refusal: ServiceRefusal): Promise<void> {
    const { pending } = await server.load()
    if (refusal.code === 'PENDING_CALLS') isAnswerLost = true
    if (refusal.code === 'SESSION_RECOVERING') {
      inDoubt = pending
      answers = null
    }
    copy.doubt()
  }

  return {
    open,
    isOpen: () => isOpen,
    async settled() {
      await opening?.catch(() => {})
      return isOpen
    },
    async mayExist() {
      await opening?.catch(() => {})
      return isOpen || isUnanswered
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
    answerLost() {
      isAnswerLost = true
    },
    inDoubt: () => inDoubt.length,
  }
}
