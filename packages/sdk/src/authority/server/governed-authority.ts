import { randomUUID } from 'node:crypto'
import { narrowTools, type SessionState } from '@countersign/engine'
import type { Decision } from '@countersign/protocol'
import { messageOf, type Report } from '../../base/diagnostics.js'
import { ReplayContractError, ReplayUnavailableError } from '../../base/errors.js'
import type { Authority, KillCause, PreflightRequest, ProposalRequest, ProposalVerdict } from '../authority.js'
import { blockedDecision } from '../blocked-decision.js'
import type { LocalSession, LocalSessionOptions } from '../local/local-session.js'
import { assertStanding, errorOf, type Standing, standingAfter, standingOf } from '../refusals.js'
import { snapshotWith } from '../snapshot-with.js'
import { type CallLimits, ServiceFailure, ServiceRefusal } from '../transport.js'
import { createControls } from './controls.js'
import type { OnInDoubt } from './in-doubt.js'
import { createOutage } from './outage.js'
import { createReceiptOutbox } from './receipt-outbox.js'
import type { ServerSession } from './server-session.js'
import { createServerSync } from './server-sync.js'
import { createSessionReplica } from './session-replica.js'

export interface GovernedOptions {
  readonly server: ServerSession
  readonly local: LocalSessionOptions
  readonly onError: 'block' | 'allow'
  readonly maxUnguardedCalls: number
  readonly onInDoubt: OnInDoubt | undefined
  readonly report: Report
  readonly onKilled: (cause: KillCause) => void
}

/** While the server is away, one short attempt tells whether it is back. */
const PROBE: CallLimits = { attempts: 1, timeoutMs: 2_000 }

/** The server decides. While it cannot be asked, and `onError` is `allow`, a copy of its session does. */
export function createGovernedAuthority(options: GovernedOptions): Authority {
  const { server, report } = options
  const { sessionId } = options.local.identity
  const copy = createSessionReplica(options.local, server)
  let standing: Standing = null

  const limits = (): CallLimits | undefined => (copy.isForked() ? PROBE : undefined)
  const outage = createOutage({
    sessionId,
    onError: options.onError,
    maxUnguardedCalls: options.maxUnguardedCalls,
    isToldOf: () => sync.isOpen(),
    report,
    onRefusal: (found) => noteStanding(found),
    onTooMany: () => kill('unguarded'),
  })
  const owed = createReceiptOutbox({
    async send(receipts) {
      const { status } = await server.submit(receipts, limits())
      copy.follow((mirror) => mirror.receive(receipts))
      noteStanding(standingOf(status))
    },
    onFailure: outage.failed,
    onRefusal: (error) => noteStanding(standingAfter(error)),
  })
  const sync = createServerSync({
    server,
    copy,
    owed,
    controls: () => controls,
    limits,
    onInDoubt: options.onInDoubt,
    onOpened: () => noteStanding(standingOf(server.known().status)),
    report,
  })
  const controls = createControls({ server, report, sessionId, limits, opened: sync.settled, mayExist: sync.mayExist })

  function noteStanding(found: Standing, cause: KillCause = 'server'): void {
    if (found === null || standing === found || standing === 'killed') return
    standing = found
    if (found !== 'killed') return
    copy.change((session) => session.kill('client'))
    options.onKilled(cause)
  }

  function kill(cause: KillCause): void {
    noteStanding('killed', cause)
    controls.kill()
  }

  /** Decides here instead, if that is allowed; or ends the call. */
  function withoutServer<T>(error: unknown, decide: (local: LocalSession) => T): T {
    outage.assertMayDecideHere(error, copy.isExact())
    return decide(copy.fork())
  }

  /** What the server is not told or does not keep: the file of a contract, and the values of the request. */
  function completed(decision: Decision, { inputs }: PreflightRequest): Decision {
    if (decision.decision === 'allow') return decision
    const file = options.local.plan.contracts.get(decision.tool_name)?.file
    const failures = decision.failures.map((failure) => ({
      ...(Object.hasOwn(inputs, failure.path) && { found: inputs[failure.path] }),
      ...(file !== undefined && { contract_file: file }),
      ...failure,
    }))
    return { ...decision, contract_file: decision.contract_file ?? file ?? null, failures }
  }

  async function proposeToServer(proposal: ProposalRequest): Promise<ProposalVerdict> {
    const { usage, model } = proposal.read
    const denied = controls.isOwing() ? deniedSince(options.local, copy.current().state(), proposal) : NONE
    const reply = await server.propose(proposal, { model: model ?? proposal.prepared.request.model, usage })
    copy.follow((mirror) => mirror.follow(proposal, reply.decisions, reply.proposal_id))
    noteStanding(standingOf(reply.status))
    const decisions = reply.decisions.map((decision) => {
      const remedy = decision.decision === 'allow' ? denied.get(decision.tool_name) : undefined
      if (remedy !== undefined) return blockedDecision(decision, 'forbidden_tool', remedy)
      return completed(decision, proposal.prepared.request)
    })
    return { by: 'server', outcome: reply.outcome, decisions }
  }

  /** Receipts, labels, filter and stops, as far as the server can be reached. */
  async function deliverAll(): Promise<void> {
    await Promise.all([owed.deliver(), controls.stopsTried()])
    if (!controls.isOwing() || !(await sync.settled())) return
    try {
      await controls.flush()
    } catch (error) {
      // A session that was stopped takes no more.
      if (!(error instanceof ServiceRefusal)) outage.failed(error)
    }
  }

  return {
    plan: options.local.plan,
    saltOf: copy.saltOf,
    start: sync.open,
    async preflight(request) {
      assertStanding(standing)
      controls.hold()
      try {
        const reply = await sync.preflight(request)
        outage.ended()
        copy.dropFork()
        if (reply.outcome === 'blocked') controls.release()
        return reply
      } catch (error) {
        controls.release()
        return withoutServer(error, (local) => local.preflight(request, `prq_${randomUUID()}`))
      }
    },
    async propose(proposal) {
      assertStanding(standing)
      if (proposal.prepared.by === 'local') return proposeTo(copy.forkOrPassing(), proposal)
      try {
        return await proposeToServer(proposal)
      } catch (error) {
        if (isConsumed(error) && proposal.read.calls.length === 0) {
          copy.doubt()
          return { by: 'server', outcome: 'no_calls', decisions: [] }
        }
        if (error instanceof ServiceFailure) sync.answerLost()
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
        for (const item of evidence) owed.remember(item)
        if (copy.isForked()) copy.fork().receive(receipts)
        return
      }
      owed.add(receipts)
      await owed.deliver()
    },
    async confirm({ by, pendingCallId }) {
      assertStanding(standing)
      if (by === 'local') return
      try {
        const { status, pending } = await server.load()
        noteStanding(standingOf(status))
        if (!pending.some((call) => call.pending_call_id === pendingCallId && call.state === 'pending')) throw gone()
      } catch (error) {
        if (error instanceof ServiceRefusal) throw errorOf(error)
        if (error instanceof ReplayContractError) throw error
        outage.failed(error)
        if (options.onError === 'block') {
          const message = `the server cannot say whether the call may still run: ${messageOf(error)}`
          throw new ReplayUnavailableError(message, { cause: error })
        }
      }
      assertStanding(standing)
    },
    addLabel(label) {
      copy.change((session) => session.addLabel(label))
      controls.addLabel(label)
    },
    setFilter(tools) {
      copy.change((session) => session.setFilter(tools))
      controls.setFilter(tools)
    },
    kill,
    reportBypass(method) {
      if (standing !== null) return
      standing = 'compromised'
      copy.change((session) => session.bypass(method))
      controls.reportBypass(method)
    },
    snapshot(lastNarrowing) {
      const local = copy.current()
      const killed = standing === 'killed'
      const unguardedCalls = outage.counts().unguarded
      return snapshotWith(local.state(), local.plan, { sessionId, lastNarrowing, killed, unguardedCalls })
    },
    labels: () => copy.current().state().labels,
    facts: () => ({
      status: standing === 'killed' ? 'KILLED' : standing === 'compromised' ? 'COMPROMISED' : server.known().status,
      lost: standing === 'lost',
      serverReachable: outage.isReachable(),
      degradedLocal: copy.isForked(),
      owedReceipts: owed.count(),
      inDoubt: sync.inDoubt(),
      unguardedCalls: outage.counts().unguarded,
      errors: outage.counts().errors,
    }),
    flush: deliverAll,
    async close() {
      await deliverAll()
      owed.stop()
    },
  }
}

/** Why tools that the model called may not run any more: labels and filters hold at once, the server hears of them later. */
function deniedSince(
  { identity, plan }: LocalSessionOptions,
  state: SessionState,
  { read }: ProposalRequest,
): ReadonlyMap<string, string> {
  const { unmatchedPolicy, principal, agent } = identity
  const tools = read.calls.map(({ name }) => ({ name }))
  const { removed } = narrowTools({ plan, state, tools, unmatchedPolicy, principal, agent })
  const controlled = removed.filter(({ reason }) => reason === 'label_gate' || reason === 'manual_filter')
  return new Map(controlled.map(({ tool, detail = '' }) => [tool, detail]))
}

const NONE: ReadonlyMap<string, string> = new Map()

/** The answer to an accepted proposal was lost. Where nothing was called, there was nothing to learn from it. */
const isConsumed = (error: unknown): boolean =>
  error instanceof ServiceRefusal && error.code === 'PREPARED_REQUEST_CONSUMED'

/** Another holder has taken the session over, or the call has an outcome: it may have run already. */
const gone = (): ReplayContractError =>
  new ReplayContractError('the call does not wait for this client any more', {
    outcome: 'blocked',
    decisions: [],
    blocked: [],
  })

function proposeTo(local: LocalSession, proposal: ProposalRequest): ProposalVerdict {
  return local.propose(proposal, { proposalId: `prp_${randomUUID()}`, pendingCallId: () => `pnd_${randomUUID()}` })
}
