import { randomUUID } from 'node:crypto'
import type { Decision, PendingCallView } from '@countersign/protocol'
import type { Authority, Judgement, KillCause, Preflight, PreflightAsk, ProposalAsk } from './authority.js'
import { createControls } from './controls.js'
import { messageOf, type Report } from './diagnostics.js'
import { ReplayKillError, ReplayUnavailableError } from './errors.js'
import { type OnInDoubt, receiptInDoubt, resolveInDoubt } from './in-doubt.js'
import { createLocalSession, type LocalSession, type LocalSessionOptions } from './local-session.js'
import { createOwedReceipts } from './owed-receipts.js'
import { assertStanding, errorOf, type Standing, standingAfter, standingOf } from './refusals.js'
import type { ServerSession } from './server-session.js'
import { snapshotWith } from './snapshot-with.js'
import { type CallLimits, ServiceFailure, ServiceRefusal } from './transport.js'

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

/** Refusals that say no more than that this client is behind: it catches up and asks again. */
const BEHIND: ReadonlySet<string> = new Set(['STATE_STALE', 'PENDING_CALLS', 'SESSION_RECOVERING'])

/**
 * The server decides. A mirror of its state is kept by the same engine, for snapshots and for the time without a server:
 * then, under `onError: allow`, a fork of the mirror decides, and is dropped when the server is back.
 */
export function createGovernedAuthority(options: GovernedOptions): Authority {
  const { server, report } = options
  const { sessionId } = options.local.identity
  let mirror = createLocalSession(options.local)
  let mirrorIsExact = true
  let fork: LocalSession | null = null
  let opening: Promise<void> | null = null
  let opened = false
  let inDoubt: readonly PendingCallView[] = []
  let answerLost = false
  let standing: Standing = null
  let reachable = true
  let unguarded = 0
  let errors = 0

  const limits = (): CallLimits | undefined => (fork === null ? undefined : PROBE)
  const locals = (): LocalSession[] => (fork === null ? [mirror] : [mirror, fork])
  const owed = createOwedReceipts({
    async send(receipts) {
      const { status } = await server.submit(receipts, limits())
      follow(() => mirror.receive(receipts))
      noteStanding(standingOf(status))
    },
    onFailure: noteFailure,
    onRefusal: (error) => noteStanding(standingAfter(error)),
  })
  const controls = createControls({
    server,
    report,
    sessionId,
    limits,
    opened: async () => {
      await opening?.catch(() => {})
      return opened
    },
  })

  function follow(change: () => void): void {
    try {
      change()
      if (mirror.state().stateVersion !== server.known().stateVersion) mirrorIsExact = false
    } catch {
      mirrorIsExact = false
    }
  }

  function noteStanding(found: Standing, cause: KillCause = 'server'): void {
    if (found === null || standing === found || standing === 'killed') return
    standing = found
    if (found !== 'killed') return
    for (const local of locals()) local.kill('client')
    options.onKilled(cause)
  }

  function noteFailure(error: unknown): void {
    errors++
    if (reachable) report({ type: 'replay_degraded', session_id: sessionId, detail: messageOf(error) })
    reachable = false
  }

  function noteReached(): void {
    if (!reachable)
      report({ type: 'replay_recovered', session_id: sessionId, detail: 'the server answers and decides again' })
    reachable = true
    fork = null
  }

  /** Opens the session once; an attempt that failed is made again by the next turn. */
  async function open(): Promise<void> {
    if (opened) return
    opening ??= openSession().finally(() => {
      opening = null
    })
    await opening
  }

  async function openSession(): Promise<void> {
    const { salt, startedAt, fresh, inDoubt: doubtful } = await server.open(limits())
    mirror = createLocalSession({ ...options.local, identity: { ...options.local.identity, salt } })
    mirror.restore({ ...mirror.state(), startedAt })
    mirrorIsExact = fresh
    controls.replayOn(mirror)
    inDoubt = doubtful
    opened = true
    noteStanding(standingOf(server.known().status))
  }

  /** Everything that must have reached the server before a request is prepared. */
  async function catchUp(): Promise<void> {
    await open()
    if (inDoubt.length > 0) {
      await server.submit(await resolveInDoubt(inDoubt, options.onInDoubt, report))
      inDoubt = []
      mirrorIsExact = false
    }
    await controls.flush()
    if (!(await owed.deliver())) throw new ServiceFailure('receipts of earlier calls could not be delivered')
    if (answerLost) await resolveUnseen()
    if (!mirrorIsExact) await resync()
  }

  /** The answer to a proposal never came: if the server accepted it, its calls wait although nobody runs them. */
  async function resolveUnseen(): Promise<void> {
    const { pending } = await server.load()
    const receipts = pending.map((call) => owed.evidenceFor(call) ?? receiptInDoubt(call, 'not_executed'))
    if (receipts.length > 0) await server.submit(receipts)
    answerLost = false
    mirrorIsExact = false
  }

  async function resync(): Promise<void> {
    mirror.restore(await server.loadState())
    mirrorIsExact = true
  }

  async function preflight(ask: PreflightAsk): Promise<Preflight> {
    for (let attempt = 1; ; attempt++) {
      try {
        await catchUp()
        const reply = await server.preflight(`prq_${randomUUID()}`, ask, limits())
        noteReached()
        if (reply.outcome === 'blocked') {
          return { outcome: 'blocked', by: 'server', reason: reply.reason, detail: reply.detail, remedy: reply.remedy }
        }
        const { prepared_request_id: preparedRequestId, allowed, removed } = reply
        return { outcome: 'prepared', by: 'server', preparedRequestId, ask, allowed, removed }
      } catch (error) {
        if (!(error instanceof ServiceRefusal) || !BEHIND.has(error.code) || attempt > 2) throw error
        const { pending } = await server.load()
        if (error.code === 'PENDING_CALLS') answerLost = true
        if (error.code === 'SESSION_RECOVERING') inDoubt = pending
        mirrorIsExact = false
      }
    }
  }

  /** Decides here instead, if that is allowed; or ends the call. */
  function withoutServer<T>(error: unknown, decide: (local: LocalSession) => T): T {
    if (error instanceof ServiceRefusal) {
      noteStanding(standingAfter(error))
      throw errorOf(error)
    }
    if (!(error instanceof ServiceFailure)) throw error
    noteFailure(error)
    if (options.onError === 'block' || !mirrorIsExact) {
      const why =
        options.onError === 'block' ? 'onError is block' : 'this client does not know the state of the session'
      throw new ReplayUnavailableError(
        `the call is blocked, since the server cannot be asked and ${why}: ${error.message}`,
        {
          cause: error,
        },
      )
    }
    unguarded++
    if (unguarded > options.maxUnguardedCalls) {
      kill('unguarded')
      const most = options.maxUnguardedCalls
      throw new ReplayKillError(
        `the session was killed: more than ${most} calls (maxUnguardedCalls) without the server`,
        {
          cause: error,
        },
      )
    }
    fork ??= mirror.fork()
    return decide(fork)
  }

  /** What the server is not told or does not keep: the file of a contract, and the values of the request. */
  function completed(decision: Decision, { request }: PreflightAsk): Decision {
    if (decision.decision === 'allow') return decision
    const file = options.local.plan.contracts.get(decision.tool_name)?.file
    const failures = decision.failures.map((failure) => ({
      ...(Object.hasOwn(request, failure.path) && { found: request[failure.path] }),
      ...(file !== undefined && { contract_file: file }),
      ...failure,
    }))
    return { ...decision, contract_file: decision.contract_file ?? file ?? null, failures }
  }

  function kill(cause: KillCause): void {
    noteStanding('killed', cause)
    controls.kill()
  }

  return {
    plan: options.local.plan,
    saltOf: (by) => (by === 'server' ? mirror : (fork ?? mirror)).salt,
    start: open,
    async preflight(ask) {
      assertStanding(standing)
      controls.hold()
      try {
        const reply = await preflight(ask)
        if (reply.outcome === 'blocked') controls.release()
        return reply
      } catch (error) {
        controls.release()
        return withoutServer(error, (local) => local.preflight(ask, `prq_${randomUUID()}`))
      }
    },
    async propose(ask) {
      assertStanding(standing)
      if (ask.prepared.by === 'local') return proposeTo(fork ?? mirror.fork(), ask)
      try {
        const { usage, model } = ask.read
        const reply = await server.propose(ask, { model: model ?? ask.prepared.ask.model, usage })
        follow(() => mirror.follow(ask, reply.decisions, reply.proposal_id))
        noteStanding(standingOf(reply.status))
        return {
          by: 'server',
          outcome: reply.outcome,
          decisions: reply.decisions.map((decision) => completed(decision, ask.prepared.ask)),
        }
      } catch (error) {
        if (isConsumed(error) && ask.read.calls.length === 0) {
          mirrorIsExact = false
          return { by: 'server', outcome: 'no_calls', decisions: [] }
        }
        answerLost ||= error instanceof ServiceFailure
        return withoutServer(error, (local) => proposeTo(local, ask))
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
        fork?.receive(receipts)
        return
      }
      owed.add(receipts)
      await owed.deliver()
    },
    async confirm(by) {
      assertStanding(standing)
      if (by === 'local') return
      try {
        noteStanding(standingOf((await server.load()).status))
      } catch (error) {
        if (error instanceof ServiceRefusal) throw errorOf(error)
        noteFailure(error)
        if (options.onError === 'block') {
          throw new ReplayUnavailableError(
            `the server cannot say whether the call may still run: ${messageOf(error)}`,
            {
              cause: error,
            },
          )
        }
      }
      assertStanding(standing)
    },
    addLabel(label) {
      for (const local of locals()) local.addLabel(label)
      controls.addLabel(label)
    },
    setFilter(tools) {
      for (const local of locals()) local.setFilter(tools)
      controls.setFilter(tools)
    },
    kill,
    reportBypass(method) {
      if (standing !== null) return
      standing = 'compromised'
      for (const local of locals()) local.bypass(method)
      controls.reportBypass(method)
    },
    snapshot(lastNarrowing) {
      const local = fork ?? mirror
      const killed = standing === 'killed'
      return snapshotWith(local.state(), local.plan, { sessionId, lastNarrowing, killed, unguardedCalls: unguarded })
    },
    labels: () => (fork ?? mirror).state().labels,
    facts: () => ({
      status: standing === 'killed' ? 'KILLED' : standing === 'compromised' ? 'COMPROMISED' : server.known().status,
      lost: standing === 'lost',
      serverReachable: reachable,
      degradedLocal: fork !== null,
      owedReceipts: owed.count(),
      inDoubt: inDoubt.length,
      unguardedCalls: unguarded,
      errors,
    }),
    async flush() {
      await owed.deliver()
      if (opened) await controls.flush().catch(noteFailure)
    },
    async close() {
      await owed.deliver()
      owed.stop()
    },
  }
}

/** The answer to an accepted proposal was lost. Where nothing was called, there was nothing to learn from it. */
const isConsumed = (error: unknown): boolean =>
  error instanceof ServiceRefusal && error.code === 'PREPARED_REQUEST_CONSUMED'

function proposeTo(local: LocalSession, ask: ProposalAsk): Judgement {
  return local.propose(ask, { proposalId: `prp_${randomUUID()}`, pendingCallId: () => `pnd_${randomUUID()}` })
}
