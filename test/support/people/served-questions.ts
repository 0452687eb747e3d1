import { createHash, randomUUID } from 'node:crypto'
import {
  applyEvent,
  compilePlan,
  evaluateProposal,
  initialState,
  judgeInputInvariants,
  judgeReceipts,
  type NewQuestion,
  narrowTools,
  type Plan,
  preflightBlock,
  preparePlan,
  readResponse,
  type SessionState,
  saltedHash,
  snapshotOf,
  usableUntil,
} from '@countersign/engine'
import {
  type Contract,
  ERRORS,
  type ErrorCode,
  isLive,
  type JsonObject,
  type LedgerBody,
  type LedgerEventType,
  pathOf,
  type Receipt,
  ROUTES,
  type RouteName,
  type SessionEvent,
  type SessionQuestion,
} from '@countersign/protocol'

/** What a person answers. */
export interface PersonAnswers {
  readonly decision: 'approve' | 'deny'
  readonly note?: string
  /** What they set in place of the model's arguments. */
  readonly arguments?: JsonObject
  readonly by?: string
}

interface Asked {
  readonly question: NewQuestion
  readonly proposalId: string
  readonly askedAt: string
  edited: JsonObject | null
  note: string | null
  cause: SessionQuestion['cause']
  pendingCallId: string | null
}

interface Held {
  readonly plan: Plan
  readonly salt: string
  state: SessionState
  holder: string | null
  seq: number
  prepared: {
    readonly id: string
    readonly allowed: readonly string[]
    readonly version: number
    readonly inputs: JsonObject
  } | null
  readonly asked: Map<string, Asked>
  readonly decided: Map<string, unknown>
}

/**
 * A service that asks people, over the engine and without a database: what several processes share. Its replies are
 * checked by the routes' schemas in the client's transport.
 */
export function createAskingService(contracts: readonly Contract[] = []) {
  const approved = contracts.length === 0 ? null : compileContracts(contracts)
  const sessions = new Map<string, Held>()
  const plans = new Map<string, Plan>()
  const requests: { readonly name: RouteName; readonly body: JsonObject }[] = []
  const lost = new Map<RouteName, number>()
  const waiting = new Set<() => void>()
  let aheadMs = 0
  let answerable = true
  const nowMs = (): number => Date.now() + aheadMs
  const at = (): string => new Date(nowMs()).toISOString()
  const changed = (): void => {
    for (const wake of waiting) wake()
    waiting.clear()
  }

  const apply = <Type extends LedgerEventType>(held: Held, type: Type, body: LedgerBody<Type>): void => {
    held.state = applyEvent(held.state, { type, at: at(), body } as SessionEvent, held.plan)
    held.seq++
    changed()
  }

  const ledger = ({ seq }: Held) => ({ seq, hash: createHash('sha256').update(String(seq)).digest('hex') })
  const lease = (): string => new Date(nowMs() + 120_000).toISOString()

  function view(id: string, held: Held) {
    const { state, plan } = held
    return {
      ...{ session_id: id, mode: 'AUTHORITATIVE', status: state.status, activity: 'running', ended_at: null },
      ...{ agent: null, environment: null, plan_source: 'client', unmatched_policy: 'block', tool_filter: null },
      ...{ state_version: state.stateVersion, control_revision: state.controlRevision, fence: state.fence },
      ...{ capture_level: 'redacted', principal_proof: null, workflow_id: null, role: null, lease_until: lease() },
      compiled_hash: plan.hash,
      labels: state.labels,
      created_at: state.startedAt,
      state: snapshotOf(state, plan, { sessionId: id, lastNarrowing: null }),
      ledger: ledger(held),
    }
  }

  function sessionQuestions(held: Held): SessionQuestion[] {
    return [...held.asked.values()].map((asked) => {
      const { question, proposalId, askedAt, edited, note, cause, pendingCallId } = asked
      const known = held.state.questions?.find(({ id }) => id === question.id)
      const isOver = known !== undefined && isLive(known.state) && Date.parse(known.until) < nowMs()
      const state = isOver ? 'expired' : (known?.state ?? 'waiting')
      const isDecided = state === 'approved' || state === 'denied' || state === 'used'
      return {
        question_id: question.id,
        proposal_id: proposalId,
        call_id: question.callId,
        tool_name: question.card.tool_name,
        state,
        cause: cause ?? (state === 'expired' ? 'time' : null),
        argument_hash: question.argumentHash,
        have: known?.yes.length ?? 0,
        needed: known?.needed ?? 1,
        asked_at: askedAt,
        expires_at: question.card.expires_at,
        usable_until: state === 'approved' ? (known?.until ?? null) : null,
        url: `http://127.0.0.1/questions/${question.id}`,
        delivered: true,
        arguments: isDecided ? (edited ?? question.card.arguments) : null,
        edited_hash: edited === null ? null : saltedHash(held.salt, edited),
        asked_arguments: isDecided && edited !== null ? question.card.arguments : null,
        note: isDecided ? note : null,
        pending_call_id: pendingCallId,
      }
    })
  }

  function propose(id: string, held: Held, body: JsonObject) {
    const { prepared, plan, salt, state } = held
    const stored = held.decided.get(String(body.prepared_request_id))
    if (stored !== undefined) throw refusal('PREPARED_REQUEST_CONSUMED', { proposal: stored })
    if (prepared === null || prepared.id !== body.prepared_request_id || prepared.version !== state.controlRevision) {
      throw refusal('PREPARED_REQUEST_STALE')
    }
    const redeems = (body.redeems ?? []) as { call_id: string; question_id: string }[]
    const proposalId = `prp_${randomUUID()}`
    let next = 0
    const verdict = evaluateProposal({
      plan,
      state,
      response: readResponse(body.response),
      gate: (body.gate ?? 'reject_all') as 'reject_all',
      unmatchedPolicy: 'block',
      agent: state.agent,
      salt,
      nowMs: nowMs(),
      offered: prepared.allowed,
      toolless: false,
      inputFailures: judgeInputInvariants({ plan, state, salt }, prepared.inputs),
      flows: body.flows as never,
      ids: { sessionId: id, proposalId, pendingCallId: () => `pnd_${proposalId.slice(4, 12)}_${next++}` },
      people: {
        tenantId: 'tnt',
        environment: null,
        approvedHash: null,
        runsJudged: body.runs === 'judged',
        questionId: () => `Q-${randomUUID().slice(0, 8).toUpperCase()}`,
        canAnswer: () => answerable,
        definitionHash: () => null,
        noteOf: (questionId) => held.asked.get(questionId)?.note ?? null,
        redeems: new Map(redeems.map(({ call_id, question_id }) => [call_id, question_id])),
        flows: new Map(),
      },
    })
    for (const question of verdict.questions) {
      const asked = { proposalId, askedAt: at(), edited: null, note: null, cause: null, pendingCallId: null }
      held.asked.set(question.id, { question, ...asked })
    }
    for (const { approval, pending_call_id } of verdict.decisions) {
      const asked = approval === undefined ? undefined : held.asked.get(approval.question_id)
      if (asked !== undefined) asked.pendingCallId = pending_call_id
    }
    apply(held, 'proposal', { ...verdict.event, prepared_request_hash: '0'.repeat(64) } as never)
    if (verdict.breaker) apply(held, 'killed', { by: 'breaker' })
    held.prepared = null
    const reply = {
      proposal_id: proposalId,
      outcome: verdict.outcome,
      decisions: verdict.decisions,
      status: held.state.status,
      state_version: held.state.stateVersion,
      control_revision: held.state.controlRevision,
      cost: 0,
      lease_until: lease(),
      ledger: ledger(held),
    }
    held.decided.set(String(body.prepared_request_id), reply)
    return reply
  }

  async function questionsReply(held: Held, query: URLSearchParams) {
    const version = (): string => `${held.seq}`
    if (Number(query.get('wait') ?? 0) > 0 && query.get('after') === version()) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Number(query.get('wait')) * 1_000)
        waiting.add(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
    return { questions: sessionQuestions(held), version: version(), retry_after: null }
  }

  const operations: Partial<
    Record<RouteName, (id: string, body: JsonObject, rest: { query: URLSearchParams; questionId: string }) => unknown>
  > = {
    createSession(_, body) {
      const id = String(body.session_id)
      const known = sessions.get(id)
      if (known !== undefined && known.holder !== body.holder_id) throw refusal('SESSION_HELD')
      if (known === undefined) {
        const given = (body.compiled_session ?? approved?.compiled_session) as JsonObject | undefined
        const plan = given === undefined ? plans.get(String(body.compiled_hash)) : prepared(given)
        if (plan === undefined) throw refusal('PLAN_UNKNOWN')
        plans.set(plan.hash, plan)
        const created = {
          ...{ agent: null, environment: null, holder_id: body.holder_id, compiled_hash: plan.hash },
          ...{ plan_source: 'client', unmatched_policy: 'block', capture_level: 'redacted', labels: [] },
          ...{ has_principal: false, initial_phase: null, fence: 1, workflow: null },
          ...(body.asks !== undefined && { asks: body.asks }),
        }
        const state = initialState(plan, { type: 'created', at: at(), body: created } as never)
        sessions.set(id, {
          ...{ plan, salt: 'c2FsdA', state, holder: String(body.holder_id), seq: 1, prepared: null },
          ...{ asked: new Map(), decided: new Map() },
        })
      }
      const held = sessionOf(id)
      return {
        session: view(id, held),
        fence: held.state.fence,
        lease_until: lease(),
        hash_salt: held.salt,
        plan_source: 'client',
        compiled_hash: held.plan.hash,
        ...(approved !== null && { compiled_session: approved.compiled_session }),
        ledger: ledger(held),
      }
    },
    loadSession(id) {
      const held = sessionOf(id)
      const calls = held.state.open?.calls ?? []
      const pending = calls
        .filter(({ state }) => state === 'pending')
        .map(({ pending_call_id, call_id, tool_name, argument_hash, state, proposed_at, claim, checkpoints }) => ({
          ...{ pending_call_id, call_id, tool_name, argument_hash, state, proposed_at },
          ...{ checkpoint_required: checkpoints.length > 0, idempotency_key: pending_call_id },
          claimed: claim !== undefined,
        }))
      return { session: view(id, held), pending, ledger: ledger(held) }
    },
    exportEvents(id) {
      const held = sessionOf(id)
      const state = JSON.parse(JSON.stringify(held.state))
      const named = { session_id: id, compiled_hash: held.plan.hash, compiled_session: null }
      return { ...named, events: [], next: null, head: ledger(held), state }
    },
    recoverSession(id, body) {
      const held = sessionOf(id)
      if (held.holder !== null && held.holder !== body.holder_id) throw refusal('LEASE_ACTIVE')
      held.holder = String(body.holder_id)
      const fence = held.state.fence + 1
      held.state = { ...held.state, fence, controlRevision: held.state.controlRevision + 1 }
      held.seq++
      return {
        session: view(id, held),
        fence,
        lease_until: lease(),
        hash_salt: held.salt,
        in_doubt: [],
        ledger: ledger(held),
      }
    },
    endSession(id) {
      const held = sessionOf(id)
      held.holder = null
      return { session: view(id, held), ledger: ledger(held) }
    },
    preflight(id, body) {
      const held = fenced(id, body)
      const { plan, state } = held
      const tools = body.tools as { name: string; kind: 'function' }[]
      if (tools.length > 0 && (state.open?.calls.some((call) => call.state === 'pending') ?? false)) {
        throw refusal('PENDING_CALLS')
      }
      const asked = { plan, state, nowMs: nowMs(), provider: 'p', model: 'm', toolless: tools.length === 0 }
      const block = preflightBlock(asked)
      const remaining = remainingOf()
      if (block !== null) {
        return { outcome: 'blocked', ...block, status: state.status, remaining, ledger: ledger(held) }
      }
      const { allowed, removed } = narrowTools({ ...asked, tools, unmatchedPolicy: 'block', agent: null } as never)
      const inputs = (body.request ?? {}) as JsonObject
      held.prepared = { id: String(body.prepared_request_id), allowed, version: state.controlRevision, inputs }
      const bound = { state_version: state.stateVersion, control_revision: state.controlRevision, fence: state.fence }
      const named = { outcome: 'prepared', prepared_request_id: body.prepared_request_id, bound, expires_at: lease() }
      return { ...named, lease_until: lease(), allowed, removed, remaining, ledger: ledger(held) }
    },
    propose: (id, body) => propose(id, fenced(id, body), body),
    claimCall(id, body) {
      const held = fenced(id, body)
      const call = held.state.open?.calls.find((one) => one.pending_call_id === body.pending_call_id)
      if (call?.state !== 'pending') throw refusal('NOT_FOUND')
      if (call.claim !== undefined && call.claim !== body.claim_id) throw refusal('CALL_TAKEN')
      if (call.claim === undefined) {
        apply(held, 'claimed', { pending_call_id: String(body.pending_call_id), claim_id: String(body.claim_id) })
      }
      const { status, controlRevision: control_revision } = held.state
      return {
        pending_call_id: body.pending_call_id,
        status,
        control_revision,
        lease_until: lease(),
        ledger: ledger(held),
      }
    },
    submitReceipts(id, body) {
      const held = fenced(id, body)
      const receipts = body.receipts as unknown as Receipt[]
      const { plan, state, salt } = held
      const judged = judgeReceipts({ plan, state, receipts, fence: state.fence, salt, at: at() })
      held.state = judged.state
      held.seq++
      changed()
      const { status, stateVersion: state_version, controlRevision: control_revision, labels } = held.state
      const results = receipts.map(({ pending_call_id, outcome }) => ({
        ...{ pending_call_id, outcome, at_level: true, late: false },
      }))
      const committed = state_version > state.stateVersion
      const reached = { results, committed, status, state_version, control_revision, labels }
      return { ...reached, lease_until: lease(), ledger: ledger(held), next: null }
    },
    addLabel(id, body) {
      const held = sessionOf(id)
      apply(held, 'label', { label: String(body.label) })
      return { labels: held.state.labels, ledger: ledger(held) }
    },
    setToolFilter(id, body) {
      const held = fenced(id, body)
      apply(held, 'tool_filter', { tools: body.tools as string[] | null })
      const { toolFilter: tool_filter, controlRevision: control_revision } = held.state
      return { tool_filter, control_revision, ledger: ledger(held) }
    },
    killSession(id) {
      const held = sessionOf(id)
      apply(held, 'killed', { by: 'client' })
      for (const asked of held.asked.values()) asked.cause ??= asked.pendingCallId === null ? 'killed' : null
      return { status: held.state.status, control_revision: held.state.controlRevision, ledger: ledger(held) }
    },
    listSessionQuestions: (id, _body, { query }) => questionsReply(sessionOf(id), query),
    withdrawQuestion(id, body, { questionId }) {
      const held = fenced(id, body)
      const question = held.state.questions?.find((one) => one.id === questionId)
      if (question === undefined) throw refusal('NOT_FOUND')
      if (!isLive(question.state)) throw refusal('QUESTION_DECIDED')
      apply(held, 'question_ended', { question_id: questionId, state: 'withdrawn', cause: 'holder' })
      const asked = held.asked.get(questionId)
      if (asked !== undefined) asked.cause = 'holder'
      return sessionQuestions(held).find((one) => one.question_id === questionId)
    },
  }

  function fenced(id: string, body: JsonObject): Held {
    const held = sessionOf(id)
    if (held.state.status === 'KILLED') throw refusal('SESSION_KILLED')
    if (body.fence !== held.state.fence) throw refusal('FENCE_STALE')
    return held
  }

  function sessionOf(id: string): Held {
    const held = sessions.get(id)
    if (held === undefined) throw refusal('NOT_FOUND')
    return held
  }

  const fetch: typeof globalThis.fetch = async (input, init) => {
    const url = new URL(String(input))
    const found = routeOf(init?.method ?? 'GET', url.pathname)
    const operation = found === null ? undefined : operations[found.name]
    if (found === null || operation === undefined) throw new Error(`no operation for ${init?.method} ${url.pathname}`)
    const body = init?.body === undefined ? {} : (JSON.parse(String(init.body)) as JsonObject)
    requests.push({ name: found.name, body })
    try {
      const { session_id: id = '', question_id: questionId = '' } = found.params
      const reply = await operation(id, body, { query: url.searchParams, questionId })
      const left = lost.get(found.name) ?? 0
      if (left > 0) {
        lost.set(found.name, left - 1)
        throw new Error('the reply was lost')
      }
      return Response.json(reply)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return Response.json(error.problem, { status: ERRORS[error.problem.code].status })
    }
  }

  return {
    fetch,
    requests,
    /** How often a route was asked. */
    count: (name: RouteName) => requests.filter((one) => one.name === name).length,
    questions: (id: string) => sessionQuestions(sessionOf(id)),
    state: (id: string) => sessionOf(id).state,
    answer(id: string, { decision, note, arguments: edited, by = 'ann' }: PersonAnswers, index = -1): void {
      const held = sessionOf(id)
      const asked = [...held.asked.values()].at(index)
      if (asked === undefined) throw new Error('nothing was asked')
      const { question } = asked
      asked.note = note ?? null
      if (edited !== undefined) asked.edited = edited
      if (decision === 'deny') asked.cause = 'denied'
      apply(held, 'answered', {
        ...{ question_id: question.id, card_no: 1, card_hash: question.cardHash, decision },
        ...{ member_hash: sha(by), name_hash: sha(by), relation: 'unknown', channel: 'dashboard' },
        ...{ state: decision === 'deny' ? 'denied' : 'approved', have: 1 },
        ...(edited !== undefined && { edited_hash: saltedHash(held.salt, edited) }),
        ...(decision === 'approve' && { usable_until: usableUntil(question.card.expires_at, nowMs()) }),
      })
    },
    /** Lets the service's clock go on. */
    advance(ms: number): void {
      aheadMs += ms
      changed()
    },
    /** The next replies of a route do not arrive, though they were made. */
    loseReplies(name: RouteName, times: number): void {
      lost.set(name, times)
    },
    setAnswerable(to: boolean): void {
      answerable = to
    },
    /** The process that held the session is gone, and its lease has ended. */
    forgetHolder(id: string): void {
      sessionOf(id).holder = null
    },
  }
}

function compileContracts(contracts: readonly Contract[]) {
  const made = compilePlan({ contracts: contracts.map((value, index) => ({ file: `${index}.yaml`, value })) })
  if (!made.ok) throw new Error('the contracts do not compile')
  return made
}

const sha = (text: string): string => createHash('sha256').update(text).digest('hex')

function prepared(compiled: object): Plan {
  const found = preparePlan(compiled as never)
  if (!found.ok) throw new Error('the plan does not compile')
  return found.plan
}

const remainingOf = () => ({
  ...{ steps: null, tool_calls: null, cost: null, calls_this_minute: null, calls_per_tool: {}, checkpoints: 10 },
})

class Refusal extends Error {
  constructor(readonly problem: { readonly code: ErrorCode } & Readonly<Record<string, unknown>>) {
    super(problem.code)
  }
}

const refusal = (code: ErrorCode, more: object = {}): Refusal =>
  new Refusal({ type: 'about:blank', title: ERRORS[code].title, status: ERRORS[code].status, code, ...more } as never)

function routeOf(method: string, path: string): { name: RouteName; params: Record<string, string> } | null {
  for (const [name, route] of Object.entries(ROUTES)) {
    if (route.method !== method || !route.path.startsWith('/api/v1/')) continue
    const names = [...route.path.matchAll(/:(\w+)/g)].map(([, key]) => key ?? '')
    const marked = Object.fromEntries(names.map((key, index) => [key, `MARK${index}`]))
    const pattern = new RegExp(`^${pathOf(route as never, marked).replace(/MARK\d+/g, '([^/]+)')}$`)
    const match = pattern.exec(path)
    if (match === null) continue
    const params = Object.fromEntries(names.map((key, index) => [key, decodeURIComponent(match[index + 1] ?? '')]))
    return { name: name as RouteName, params }
  }
  return null
}
