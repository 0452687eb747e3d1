import type { Decision, HandoffState } from '@countersign/protocol'
import { expireOffers } from '../../../packages/server/src/workflows/expire-offers.js'
import { attachSession, type GovernedSession, receiptFor } from '../runtime/governed-session.js'
import type { Answer, Runtime } from '../runtime/runtime.js'
import { join, lookUp, openWorkflow, pay, readDocument, settle, tryJoin, tryOffer } from '../runtime/workflow.js'

/** What the model believes of a session. */
interface Member {
  readonly session: GovernedSession
  readonly role: 'researcher' | 'payer' | 'auditor'
  readonly handoff: Handed | null
  tools: ReadonlySet<string>
  labels: Set<string>
  killed: boolean
  lapsed: boolean
  /** The call that waits for its receipt. */
  pending: { decision: Decision; tool: string; key: string | null } | null
}

interface Handed {
  readonly id: string
  readonly giver: Member
  readonly toRole: 'payer' | 'auditor'
  readonly tools: ReadonlySet<string>
  readonly bound: ReadonlySet<string> | null
  state: HandoffState
  holder: Member | null
  lapsed: boolean
}

export interface Command {
  readonly kind: keyof typeof COMMANDS
  /** Which session or handoff, and how. */
  readonly pick: number
  readonly how: number
  readonly instance: 0 | 1
}

/** A workflow as it should be, beside the one on the servers. Each command says what must come back, and is sent. */
export class WorkflowModel {
  readonly members: Member[] = []
  readonly handoffs: Handed[] = []
  readonly runtime: Runtime
  readonly workflowId: string
  killed = false
  #instance: 0 | 1 = 0

  private constructor(runtime: Runtime, root: GovernedSession & { workflowId: string }) {
    this.runtime = runtime
    this.workflowId = root.workflowId
    this.add(root, 'researcher', null)
  }

  static async open(runtime: Runtime): Promise<WorkflowModel> {
    return new WorkflowModel(runtime, await openWorkflow(runtime.api()))
  }

  get api() {
    return this.runtime.api(this.runtime.key, this.runtime.instances[this.#instance])
  }

  /** Returns what came back otherwise than foretold; null when all was as it should be. */
  async run({ kind, pick, how, instance }: Command): Promise<string | null> {
    this.#instance = instance
    const wrong = await COMMANDS[kind](this, pick, how)
    return wrong === null ? null : `${kind}(${pick}, ${how}): ${wrong}`
  }

  add(session: GovernedSession, role: Member['role'], handoff: Handed | null): Member {
    const own = role === 'researcher' ? ['read_document', 'look_up'] : ['look_up', 'pay']
    const tools = new Set(handoff?.tools ?? own)
    const labels = new Set(handoff?.giver.labels)
    const member: Member = { session, role, handoff, tools, labels, killed: false, lapsed: false, pending: null }
    this.members.push(member)
    if (handoff !== null) handoff.holder = member
    return member
  }

  /** The same client, through the server that this command goes to. */
  via({ session }: Member): GovernedSession {
    const through = attachSession(this.api, session)
    through.stateVersion = session.stateVersion
    return through
  }

  /** What the view of the workflow must show. */
  expected() {
    return {
      status: this.killed ? 'KILLED' : 'ACTIVE',
      sessions: this.members.map(({ session, killed, labels, tools }) => ({
        session_id: session.sessionId,
        status: killed ? 'KILLED' : 'ACTIVE',
        labels: [...labels].sort(),
        tools: [...tools].sort(),
      })),
      handoffs: this.handoffs.map(({ id, state, lapsed, holder }) => ({
        handoff_id: id,
        state: state === 'offered' && lapsed ? 'expired' : state,
        to_session: holder?.session.sessionId ?? null,
      })),
      resources: this.members
        .filter(({ pending }) => pending?.key != null)
        .map(({ session, pending }) => `${session.sessionId} invoice:${pending?.key}`)
        .sort(),
    }
  }
}

type Outcome = Promise<string | null>
const at = <T>(list: readonly T[], index: number): T | undefined => list[index % list.length]

/** A code for a refusal, or the status of a success. */
function differs(answer: Answer<unknown>, expected: string | number): string | null {
  const found = typeof expected === 'number' ? answer.status : answer.problem.code
  return found === expected ? null : `expected ${expected}, got ${answer.status} ${answer.problem.code ?? ''}`
}

const isOpen = ({ state, lapsed }: Handed) => state === 'accepted' || (state === 'offered' && !lapsed)

const COMMANDS = {
  async joinRoot(model, _pick, _how): Outcome {
    const { workflowId } = model
    if (model.killed) return differs(await tryJoin(model.api, { workflowId, role: 'researcher' }), 'WORKFLOW_KILLED')
    if (model.members.length < 6)
      model.add(await join(model.api, { workflowId, role: 'researcher' }), 'researcher', null)
    return null
  },

  async offer(model, pick, how): Outcome {
    const giver = at(model.members, pick)
    if (giver === undefined) return null
    const toRole = giver.role === 'researcher' ? 'payer' : 'auditor'
    const tools = [undefined, ['look_up'], ['pay'], ['look_up', 'pay']][how % 4]
    const answer = await tryOffer(model.via(giver), { to_role: toRole, ...(tools && { tools }) })
    const bound = giver.handoff?.bound ?? null
    const isBeyond = tools?.some((tool) => bound !== null && !bound.has(tool)) === true
    if (model.killed) return differs(answer, 'WORKFLOW_KILLED')
    if (giver.killed) return differs(answer, 'SESSION_KILLED')
    if (giver.handoff !== null && giver.handoff.state !== 'accepted') return differs(answer, 'HANDOFF_STATE')
    if (giver.role === 'auditor' || isBeyond) return differs(answer, 'HANDOFF_NOT_ALLOWED')
    const wrong = differs(answer, 200)
    if (wrong !== null) return wrong
    giver.lapsed = false
    const named = tools ? new Set(tools) : bound
    model.handoffs.push({
      id: answer.body.handoff.handoff_id,
      giver,
      toRole,
      tools: named ?? new Set(['look_up', 'pay']),
      bound: named,
      state: 'offered',
      holder: null,
      lapsed: false,
    })
    return null
  },

  async accept(model, pick): Outcome {
    const handoff = at(model.handoffs, pick)
    if (handoff === undefined) return null
    const { workflowId } = model
    const how = { workflowId, role: handoff.toRole, handoffId: handoff.id }
    if (model.killed) return differs(await tryJoin(model.api, how), 'WORKFLOW_KILLED')
    if (handoff.state !== 'offered' || handoff.lapsed) return differs(await tryJoin(model.api, how), 'HANDOFF_STATE')
    if (handoff.giver.killed) return differs(await tryJoin(model.api, how), 'HANDOFF_STATE')
    handoff.state = 'accepted'
    model.add(await join(model.api, how), handoff.toRole, handoff)
    return null
  },

  async complete(model, pick): Outcome {
    const handoff = at(model.handoffs, pick)
    if (handoff === undefined) return null
    const { holder, giver } = handoff
    const where = { workflowId: model.workflowId, handoffId: handoff.id }
    const answer = await settle('completeHandoff', model.via(holder ?? giver), where)
    if (holder === null) return differs(answer, 'HANDOFF_STATE')
    if (handoff.state === 'completed') return differs(answer, 200)
    if (model.killed) return differs(answer, 'WORKFLOW_KILLED')
    if (handoff.state !== 'accepted') return differs(answer, 'HANDOFF_STATE')
    if (holder.killed) return differs(answer, 'SESSION_KILLED')
    if (holder.pending !== null) return differs(answer, 'PENDING_CALLS')
    if (model.handoffs.some((one) => one.giver === holder && isOpen(one))) return differs(answer, 'HANDOFF_STATE')
    handoff.state = 'completed'
    holder.tools = new Set()
    for (const label of holder.labels) giver.labels.add(label)
    return differs(answer, 200)
  },

  async reclaim(model, pick): Outcome {
    const handoff = at(model.handoffs, pick)
    if (handoff === undefined) return null
    const { holder, giver, state } = handoff
    const where = { workflowId: model.workflowId, handoffId: handoff.id }
    const answer = await settle('reclaimHandoff', model.via(giver), where)
    if (state === 'reclaimed' || state === 'expired') return differs(answer, 200)
    if (model.killed) return differs(answer, 'WORKFLOW_KILLED')
    if (giver.killed) return differs(answer, 'SESSION_KILLED')
    if (state === 'completed') return differs(answer, 'HANDOFF_STATE')
    const isGone = holder === null ? handoff.lapsed : holder.lapsed || holder.killed
    if (!isGone) return differs(answer, 'HANDOFF_NOT_ELIGIBLE')
    giver.lapsed = false
    fall(model, handoff)
    return differs(answer, 200)
  },

  async lapseOffer(model, pick): Outcome {
    const handoff = at(model.handoffs, pick)
    if (handoff === undefined) return null
    handoff.lapsed = true
    await model.runtime.sql`update handoffs set expires_at = clock_timestamp() where handoff_id = ${handoff.id}`
    return null
  },

  async sweep(model): Outcome {
    await expireOffers(model.runtime.instances[0].parts)
    for (const handoff of model.handoffs) if (handoff.state === 'offered' && handoff.lapsed) handoff.state = 'expired'
    return null
  },

  /** The holder is gone: nobody renews its lease. */
  async crash(model, pick): Outcome {
    const member = at(model.members, pick)
    if (member === undefined) return null
    member.lapsed = true
    const { sessionId } = member.session
    await model.runtime
      .sql`update session_heads set revision = revision || ':lapsed', lease_until = clock_timestamp() where session_id = ${sessionId}`
    return null
  },

  async propose(model, pick, how): Outcome {
    const member = at(model.members, pick)
    if (member === undefined) return null
    const session = model.via(member)
    const prepared = await session.preflight()
    if (member.killed) return differs(prepared, 'SESSION_KILLED')
    if (member.pending !== null) return differs(prepared, 'PENDING_CALLS')
    if (prepared.status !== 200 || prepared.body.outcome !== 'prepared') return `preflight answered ${prepared.status}`
    member.lapsed = false
    const key = ['1', '2'][how % 2] ?? '1'
    const call = [lookUp(key), pay(key), readDocument()][Math.floor(how / 2) % 3] ?? lookUp(key)
    const answer = await session.propose(prepared.body.prepared_request_id, [call])
    const taints = call.name === 'pay' && member.labels.has('untrusted_input')
    const expected = member.tools.has(call.name) && !taints && !isTaken(model, member, call.name, key)
    if (answer.status !== 200) return `answered ${answer.status} ${answer.problem.code}`
    const [decision] = answer.body.decisions
    if (decision?.decision !== (expected ? 'allow' : 'block')) return `${call.name} ${key}: ${JSON.stringify(decision)}`
    if (expected) member.pending = { decision, tool: call.name, key: call.name === 'read_document' ? null : key }
    return null
  },

  async receipt(model, pick, how): Outcome {
    const member = at(model.members, pick)
    if (member?.pending == null) return null
    const { decision, tool } = member.pending
    const outcome = (['succeeded', 'failed', 'unknown', 'not_executed'] as const)[how % 4] ?? 'unknown'
    const answer = await model.via(member).receipts([receiptFor(decision, { outcome })])
    member.pending = null
    member.lapsed = false
    if (answer.status !== 200) return `answered ${answer.status} ${JSON.stringify(answer.problem)}`
    member.session.stateVersion = answer.body.state_version
    if (outcome === 'not_executed') return null
    for (const label of labelsOf(tool)) member.labels.add(label)
    return null
  },

  async killSession(model, pick, how): Outcome {
    const member = how % 4 === 0 ? at(model.members, pick) : undefined
    if (member === undefined) return null
    member.killed = true
    return differs(await model.api.killSession({ params: { session_id: member.session.sessionId }, body: {} }), 200)
  },

  async killWorkflow(model, _pick, how): Outcome {
    if (how % 8 !== 0) return null
    model.killed = true
    for (const member of model.members) member.killed = true
    return differs(await model.api.killWorkflow({ params: { workflow_id: model.workflowId }, body: {} }), 200)
  },
} satisfies Record<string, (model: WorkflowModel, pick: number, how: number) => Outcome>

export const COMMAND_NAMES = Object.keys(COMMANDS) as Command['kind'][]

/** A handoff is taken back, and with it all that its holder handed on. Labels come back as from a completed one. */
function fall(model: WorkflowModel, handoff: Handed): void {
  handoff.state = 'reclaimed'
  const { holder } = handoff
  if (holder === null) return
  holder.tools = new Set()
  for (const below of model.handoffs) {
    if (below.giver === holder && (below.state === 'offered' || below.state === 'accepted')) fall(model, below)
  }
  // What a call under way would add counts: nobody may hear of its outcome any more.
  for (const label of [...holder.labels, ...labelsOf(holder.pending?.tool)]) handoff.giver.labels.add(label)
}

const labelsOf = (tool: string | undefined): string[] =>
  tool === 'read_document' ? ['untrusted_input'] : tool === 'pay' ? ['money_moved'] : []

/** Another session's call is on the same thing, and one of the two wants it alone. */
function isTaken(model: WorkflowModel, member: Member, tool: string, key: string): boolean {
  if (tool === 'read_document') return false
  return model.members.some(
    ({ pending, session }) =>
      session !== member.session && pending?.key === key && (tool === 'pay' || pending.tool === 'pay'),
  )
}
