import {
  type Ask,
  type AskedRule,
  askSchema,
  type CallFlow,
  type CardEdit,
  type CheckpointTrigger,
  type JsonObject,
  type JsonValue,
  LIMITS,
  type QuestionCard,
  selfOf,
  spanSeconds,
  windowSecondsOf,
} from '@countersign/protocol'
import type { Plan, PreparedContract } from '../contract/plan.js'
import { saltedHash } from '../json/hash.js'
import type { SessionState } from '../state/state.js'
import { checkpointOf } from './checkpoint.js'
import type { AskedPeople, People } from './rules/standing.js'

/** The checkpoints of a call by whom they ask. */
export interface Asking {
  readonly people: AskedPeople | null
  /** How many of its triggers ask people. */
  readonly triggers: number
  /** Those that ask the program. */
  readonly client: readonly CheckpointTrigger[]
}

interface AskingCall {
  readonly tool: string
  readonly contract: PreparedContract | undefined
  readonly checkpoints: readonly CheckpointTrigger[]
}

/** Tells the checkpoints that ask people from those that ask the program. */
export function askingOf(plan: Plan, state: SessionState, call: AskingCall, nowMs: number): Asking {
  const { tool, contract, checkpoints } = call
  if (checkpoints.length === 0 || !(plan.asksPeople || state.asks === 'people')) {
    return { people: null, triggers: 0, client: checkpoints }
  }
  const asked: AskingRule[] = []
  const client: CheckpointTrigger[] = []
  for (const trigger of checkpoints) {
    const { definition, edits = [] } = checkpointOf(contract, trigger.checkpoint_id) ?? {}
    const ask = definition?.ask ?? plan.session.ask ?? (state.asks === 'people' ? DEFAULT_ASK : null)
    if (ask === null) client.push(trigger)
    else {
      const rule = `${tool}${trigger.checkpoint_id.slice(trigger.checkpoint_id.lastIndexOf('#'))}`
      const { reason, context } = trigger
      asked.push({ ask, edits, rule: { rule, reason, context }, again: definition?.ask_again === true })
    }
  }
  if (asked.length === 0) return { people: null, triggers: 0, client }
  return { people: oneQuestion(asked, nowMs), triggers: asked.length, client }
}

const DEFAULT_ASK: Ask = askSchema.parse({})

interface AskingRule {
  readonly ask: Ask
  readonly edits: readonly CardEdit[]
  readonly rule: AskedRule
  readonly again: boolean
}

/** The strictest of each. */
function oneQuestion(asked: readonly AskingRule[], nowMs: number): AskedPeople {
  const at = (seconds: number) => new Date(nowMs + seconds * 1_000).toISOString()
  const asks = asked.map(({ ask }) => ask)
  const window = Math.min(...asks.map(windowSecondsOf))
  const first = asks.find((ask) => windowSecondsOf(ask) === window)
  return {
    rules: asked.map(({ rule }) => rule),
    needed: Math.max(...asks.map(({ count }) => count)),
    eligible: asks.map(({ role, escalate }) => [
      { role, from: at(0) },
      ...escalate.map((step) => ({ role: step.role, from: at(spanSeconds(step.after)) })),
    ]),
    self: asks.some((ask) => selfOf(ask) === 'never') ? 'never' : 'confirm',
    expiresAt: at(window),
    remindAt: (first?.remind ?? []).map((percent) => at((window * percent) / 100)),
    asksAgain: asked.every(({ again }) => again),
    edit: asked.map(({ edits }) => edits).reduce(inBoth),
  }
}

/** What a person may change of a call that these checkpoints ask about. */
export const editsOf = (
  contract: PreparedContract | undefined,
  checkpoints: readonly CheckpointTrigger[],
): readonly CardEdit[] =>
  checkpoints.map(({ checkpoint_id: id }) => checkpointOf(contract, id)?.edits ?? []).reduce(inBoth)

/** What one rule lets a person change, the others let them change as well. */
const inBoth = (some: readonly CardEdit[], others: readonly CardEdit[]): readonly CardEdit[] =>
  some.filter(({ path, to }) => others.some((other) => other.path === path && other.to === to))

/** A new question, with all that the service stores of it. */
export interface NewQuestion {
  readonly id: string
  readonly card: QuestionCard
  readonly cardHash: string
  readonly argumentHash: string
  readonly callId: string
  readonly remindAt: readonly string[]
  readonly flow: CallFlow | null
}

/** The card of a call that asks: all that a person decides about. */
export function newQuestion(
  people: People,
  asked: AskedPeople,
  call: {
    readonly id: string
    readonly tool: string
    readonly arguments: JsonObject
    readonly hash: string
    readonly flow: CallFlow | null
  },
  session: { readonly id: string; readonly agent: string | null; readonly salt: string; readonly planHash: string },
): NewQuestion {
  const id = people.questionId()
  const card: QuestionCard = {
    tenant_id: people.tenantId,
    question_id: id,
    card_no: 1,
    session_id: session.id,
    agent: session.agent,
    environment: people.environment,
    tool_name: call.tool,
    arguments: call.arguments,
    definition_hash: people.definitionHash(call.tool),
    plan_hash: session.planHash,
    approved_hash: people.approvedHash,
    rules: [...asked.rules],
    needed: asked.needed,
    eligible: asked.eligible,
    self: asked.self,
    edit: people.runsJudged ? [...asked.edit] : [],
    expires_at: asked.expiresAt,
  }
  return {
    id,
    card,
    cardHash: cardHashOf(session.salt, card),
    argumentHash: call.hash,
    callId: call.id,
    remindAt: asked.remindAt,
    flow: call.flow,
  }
}

/** Salted as everything that the ledger says of content. */
export const cardHashOf = (salt: string, card: QuestionCard): string => saltedHash(salt, card as unknown as JsonValue)

/** Until when an answer can be used that comes now: the later of the question's end and an hour. */
export function usableUntil(expiresAt: string, nowMs: number): string {
  return new Date(Math.max(Date.parse(expiresAt), nowMs + LIMITS.approvalMinutes * 60_000)).toISOString()
}
