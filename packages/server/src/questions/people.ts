import type { AskedPeople, People, Plan, ReadResponse } from '@countersign/engine'
import { isProven } from '@countersign/engine'
import { type Input, isLive, type JsonValue, LIMITS, type Routes } from '@countersign/protocol'
import { makeQuestionId } from '../base/crypto/secrets.js'
import type { LoadedSession } from '../change/change-session.js'
import type { Context } from '../context/context.js'
import { listFlows } from '../store/questions/cards.js'
import {
  type Answerer,
  listAnswerers,
  listAnswers,
  listQuestionsOfSession,
  loadSurroundings,
} from '../store/questions/questions.js'
import type { SessionRow } from '../store/sessions/session-row.js'

type Body = Input<Routes['propose']>['body']

/** Whom a proposal may ask, and what else is known of the questions of its session. */
export interface KnownPeople {
  readonly people: People
  readonly requester: string | null
  /** A question that waits was asked under another plan in force, or about another definition of its tool. */
  readonly changed: readonly ChangedQuestion[]
}

export interface ChangedQuestion {
  readonly questionId: string
  readonly cause: 'plan_changed' | 'definition_changed'
  readonly approvedHash: string | null
}

const mayAsk = (plan: Plan, tool: string): boolean => {
  const contract = plan.contracts.get(tool)
  if (contract === undefined) return false
  const { checkpoints, risk, definition } = contract
  return (
    checkpoints.length > 0 || risk === 'checkpoint' || definition.surprise !== undefined || contract.sources.length > 0
  )
}

/** Null where no call of the response can ask people. */
export async function peopleFor(
  { app }: Context,
  { session, plan, query }: LoadedSession,
  response: ReadResponse,
  body: Body,
): Promise<KnownPeople | null> {
  const { fixed, head } = session
  if (!plan.asksPeople && head.state.asks !== 'people') return null
  const tools = [...new Set(response.calls.map(({ name }) => name))].filter((tool) => mayAsk(plan, tool))
  if (tools.length === 0) return null
  const { tenantId, sessionId, environment } = fixed
  const { agent } = head.state
  const proven = provenOf(session)
  const isKnown = proven !== null || fixed.principalProof === 'no_person'
  const what = { tenantId, agent, environment, tools, proven }
  const { open, requester, approvedHash, definitions } = await query((sql) => loadSurroundings(sql, what))
  const members = await query((sql) => listAnswerers(sql, tenantId))
  const known =
    (head.state.questions ?? []).length === 0
      ? []
      : await query((sql) => listQuestionsOfSession(sql, tenantId, sessionId))
  const denied = known.filter(({ state }) => state === 'denied').map(({ questionId }) => questionId)
  const answers = denied.length === 0 ? [] : await query((sql) => listAnswers(sql, tenantId, denied))
  const notes = new Map(
    answers.filter(({ decision }) => decision === 'deny').map(({ questionId, note }) => [questionId, note]),
  )
  const live = known.filter(({ state }) => isLive(state)).map(({ questionId }) => questionId)
  const people: People = {
    tenantId,
    environment,
    approvedHash,
    runsJudged: body.runs === 'judged',
    questionId: () => makeQuestionId(app.random),
    canAnswer: (asked) => open < LIMITS.openQuestionsPerTenant && canAnswer(members, asked, { isKnown, requester }),
    definitionHash: (tool) => definitions[tool] ?? null,
    noteOf: (questionId) => notes.get(questionId) ?? null,
    flows: live.length === 0 ? new Map() : await query((sql) => listFlows(sql, tenantId, live)),
    redeems: new Map((body.redeems ?? []).map(({ call_id, question_id }) => [call_id, question_id])),
  }
  const changed = known.flatMap(
    ({ questionId, state, toolName, approvedHash: was, definitionHash }): ChangedQuestion[] => {
      if (!isLive(state) || !tools.includes(toolName)) return []
      if (definitionHash !== (definitions[toolName] ?? null))
        return [{ questionId, cause: 'definition_changed', approvedHash }]
      return was === approvedHash ? [] : [{ questionId, cause: 'plan_changed', approvedHash }]
    },
  )
  return { people, requester, changed }
}

/** Whom a token proves that the session acts for. */
function provenOf({ fixed: { principal } }: SessionRow): { issuer: string; subject: string } | null {
  if (!isProven(principal)) return null
  const { id, issuer } = principal as { [name: string]: JsonValue }
  return { issuer: String(issuer), subject: String(id) }
}

/** Enough members fit all of its rules, at once or after some hours. */
function canAnswer(
  members: readonly Answerer[],
  { needed, eligible, self }: Pick<AskedPeople, 'needed' | 'eligible' | 'self'>,
  { isKnown, requester }: { readonly isKnown: boolean; readonly requester: string | null },
): boolean {
  // Who must not be the same person has to be known.
  if (self === 'never' && !isKnown) return false
  const fit = members.filter(
    (member) =>
      (self === 'confirm' || member.userId !== requester) &&
      eligible.every((rule) => rule.some(({ role }) => isOne(member, role))),
  )
  return fit.length >= needed
}

export function isOne({ role, groups }: Answerer, asked: string): boolean {
  if (asked === 'owner') return role === 'owner'
  return asked === 'approver' || groups.includes(asked)
}
