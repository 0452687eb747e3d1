import type { AskedRule, CallFlow, CardEdit, Eligible, Environment, Self } from '@countersign/protocol'
import { isOpenAt, type StateQuestion } from '../../state/questions.js'
import type { SessionState } from '../../state/state.js'

/** What the service knows of the people that a proposal may ask. */
export interface People {
  readonly tenantId: string
  readonly environment: Environment | null
  /** The plan that is in force for agent and environment now. */
  readonly approvedHash: string | null
  /** The proposer runs what was judged, so that a person may change it. */
  readonly runsJudged: boolean
  questionId(): string
  /** Whether enough members can answer. */
  canAnswer(asked: Pick<AskedPeople, 'needed' | 'eligible' | 'self'>): boolean
  /** Of a tool whose definition is pinned. */
  definitionHash(tool: string): string | null
  /** What the person wrote who refused. */
  noteOf(questionId: string): string | null
  /** The questions whose answers calls of the response are meant to use, by call. */
  readonly redeems: ReadonlyMap<string, string>
  /** Where the arguments of open questions were seen when they were asked, by question: what people were shown. */
  readonly flows: ReadonlyMap<string, CallFlow>
}

/** What the rules of one call ask people, as one question: a member must fit all of them. */
export interface AskedPeople {
  readonly rules: readonly AskedRule[]
  readonly needed: number
  readonly eligible: Eligible
  readonly self: Self
  readonly expiresAt: string
  /** When people are reminded. */
  readonly remindAt: readonly string[]
  /** A call that a person has refused may be asked about again. */
  readonly asksAgain: boolean
  /** What the person who answers may change. */
  readonly edit: readonly CardEdit[]
}

/** Of a call that asks nothing by itself, and is meant to use an answer up. */
export const NOTHING_ASKED: AskedPeople = {
  rules: [],
  needed: 1,
  eligible: [],
  self: 'confirm',
  expiresAt: '',
  remindAt: [],
  asksAgain: true,
  edit: [],
}

/** How a call stands to what its rules ask people. */
export type Standing =
  /** The answer is there, and lifts the rules that asked. */
  | { readonly kind: 'approved'; readonly question: StateQuestion }
  /** `edited`: a person changed it, so that not this call but the changed one is approved. */
  | { readonly kind: 'waiting'; readonly question: StateQuestion; readonly edited: boolean }
  | { readonly kind: 'new' }
  | { readonly kind: 'refused'; readonly question: StateQuestion; readonly note: string | null }
  | { readonly kind: 'ended'; readonly question: StateQuestion }
  /** Too few members can answer, or nobody who could ask them decides here. */
  | { readonly kind: 'not_asked'; readonly detail: 'not_asked' | 'ask_needs_service' }

/**
 * The question of a call, and whether its answer is there. `taken`: questions of other calls of the same response. Null: it
 * asks nothing, and uses no answer up.
 */
export function standingOf(
  people: People | null,
  state: SessionState,
  asked: AskedPeople,
  call: { readonly id: string; readonly tool: string; readonly hash: string; readonly nowMs: number },
  taken: Set<string>,
): Standing | null {
  if (people === null) return { kind: 'not_asked', detail: 'ask_needs_service' }
  const { tool, hash, nowMs } = call
  const known = (state.questions ?? []).filter((one) => one.tool === tool && !taken.has(one.id))
  const redeemed = people.redeems.get(call.id)
  if (redeemed !== undefined) {
    const question = known.find(({ id }) => id === redeemed)
    if (question !== undefined && lifts(question, asked) && hash === (question.editedHash ?? question.hash)) {
      taken.add(question.id)
      return ofQuestion(question, people, nowMs)
    }
  }
  if (asked === NOTHING_ASKED) return null
  const same = known.filter((one) => one.hash === hash && lifts(one, asked))
  const open = same.filter((one) => isOpenAt(one, nowMs))
  const question =
    open.find((one) => one.state === 'approved' && one.editedHash === undefined) ??
    open.find(({ state }) => state === 'waiting') ??
    open[0]
  if (question !== undefined) {
    taken.add(question.id)
    const isEdited = question.editedHash !== undefined && question.state === 'approved'
    return isEdited ? { kind: 'waiting', question, edited: true } : ofQuestion(question, people, nowMs)
  }
  // A no is about the call, whichever rules asked.
  const isRefused = (one: StateQuestion) => one.tool === tool && one.hash === hash && one.state === 'denied'
  const denied = asked.asksAgain ? undefined : state.questions?.find(isRefused)
  if (denied !== undefined) return ofQuestion(denied, people, nowMs)
  return people.canAnswer(asked) ? { kind: 'new' } : { kind: 'not_asked', detail: 'not_asked' }
}

/** An answer lifts the rules that it was given about, and no others. */
const lifts = (question: StateQuestion, { rules }: AskedPeople): boolean =>
  rules.every(({ rule }) => question.rules.includes(rule))

function ofQuestion(question: StateQuestion, people: People, nowMs: number): Standing {
  if (question.state === 'denied') return { kind: 'refused', question, note: people.noteOf(question.id) }
  if (!isOpenAt(question, nowMs)) return { kind: 'ended', question }
  return question.state === 'approved' ? { kind: 'approved', question } : { kind: 'waiting', question, edited: false }
}

/** The request and the response of a call that is made again were judged when people were asked: now they say nothing. */
export const wasJudgedBefore = (standing: Standing | null): boolean => standing?.kind === 'approved'
