import {
  type Block,
  type BlockReason,
  type ContractFailure,
  type JsonValue,
  LIMITS,
  type UnmatchedPolicy,
} from '@countersign/protocol'
import type { PreparedHours } from '../../contract/hours.js'
import type { Plan, PreparedBind, PreparedContract } from '../../contract/plan.js'
import type { Conditional } from '../../contract/when/condition.js'
import type { ReadResponse } from '../../response/read-response.js'
import type { ResponseView } from '../../response/response-view.js'
import type { ToolCall } from '../../response/tool-call.js'
import type { SessionState } from '../../state/state.js'
import type { Tally } from '../../state/tally.js'
import { cutText, plainText } from '../../text/cut-text.js'
import type { Amounts } from './amounts.js'
import type { CallKeys } from './call-keys.js'
import type { CallDraws, Draw, SharedCounts } from './draws.js'
import type { SourceViolation } from './sources.js'
import type { Standing } from './standing.js'

/** A rule says why one call must be blocked, or null. It is pure. */
export type Rule = (context: CallContext) => Block | null

/** A rule that needs no arguments, so that preflight can apply it before the model proposes anything. */
export type ToolRule = (context: ToolContext) => Block | null

/** What is known about a tool in a session before a call is proposed. */
export interface ToolContext {
  readonly tool: string
  readonly contract: PreparedContract | null
  readonly plan: Plan
  readonly state: SessionState
  /** What the calls allowed before this one in the same response add to the session. */
  readonly tally: Tally
  readonly unmatchedPolicy: UnmatchedPolicy
  /** Undefined if the program named none. */
  readonly principal: JsonValue | undefined
  readonly agent: string | null
  /** The clock of the authority that decides. */
  readonly nowMs: number
  /** False if that is not when the call was made. */
  readonly isTimed: boolean
  /** Null: limits that sessions share are not judged here. */
  readonly shared: SharedCounts | null
  /** The session's hours that apply. */
  readonly hours: readonly PreparedHours[]
}

/** What the rules know about a proposed call. */
export interface CallContext extends ToolContext {
  readonly call: ToolCall
  /** Null if the arguments could not be read or no rule of the plan compares them. */
  readonly argumentHash: string | null
  readonly keys: CallKeys
  readonly amounts: Amounts
  readonly draws: CallDraws
  /** What the cost of the response takes of shared limits. */
  readonly spends: readonly Draw[]
  readonly checkpoints: readonly AskedCheckpoint[]
  /** How many of them count: none that a program asks again after it was parked. */
  readonly triggers: number
  /** How the call stands to what it asks people; null: it asks none. */
  readonly standing: Standing | null
  readonly sourceViolations: readonly SourceViolation[]
  readonly response: ResponseContext
  readonly salt: string
  /** What the session has spent, including this response. */
  readonly spent: string
  readonly inputFailures: readonly ContractFailure[]
  readonly heldResources: ((key: string, mode: 'exclusive' | 'shared') => string | null) | null
}

/** A question about a call, and whether it may be asked again once a person has said no. */
export interface AskedCheckpoint extends Pick<Conditional, 'message'> {
  readonly asksAgain: boolean
}

/** What all calls of one response share. */
export interface ResponseContext {
  readonly read: ReadResponse
  /** The request offered no tools, so every call is wrong. */
  readonly toolless: boolean
  /** The phases that the calls of this response lead to. */
  readonly targets: ReadonlySet<string>
  readonly view: () => ResponseView
  readonly outputFailures: (contract: PreparedContract) => readonly ContractFailure[]
}

/** What a rule found, before it becomes a block. */
export interface Finding {
  /** What the model can act on. */
  readonly remedy: string
  /** The part of the remedy that stays where the owner's words replace our advice; absent: all of it. */
  readonly fact?: string
  /** The rules that block, whose owner may have something to say. Absent: no rule of a contract does. */
  readonly rules?: readonly Pick<Conditional, 'message' | 'because'>[]
  /** What the owner says stands in the remedy already. */
  readonly isTold?: boolean
  readonly detail?: string
  readonly failures?: readonly ContractFailure[]
  readonly sharedLimit?: Block['shared_limit']
}

export function block(reason: BlockReason, contract: PreparedContract | null, finding: Finding): Block {
  const file = contract?.file
  const named = file === undefined ? {} : { contract_file: file }
  return {
    reason,
    ...(finding.detail === undefined ? {} : { detail: plainText(finding.detail, SHOWN_VALUE_LENGTH) }),
    remedy: plainText(remedyOf(finding, contract), SHOWN_REMEDY_LENGTH),
    failures: firstFailures(finding.failures ?? []).map((failure) => ({ ...failure, ...named })),
    ...named,
    ...(finding.sharedLimit === undefined ? {} : { shared_limit: finding.sharedLimit }),
  }
}

/** A fact with our advice, for which the owner of the rules may have better words. */
export const advised = (
  fact: string,
  advice: string,
  rules: NonNullable<Finding['rules']>,
): Pick<Finding, 'remedy' | 'fact' | 'rules'> => ({ remedy: `${fact} ${advice}`, fact, rules })

/** What the model reads: the fact, what the owner of the rule says or else our advice, and why the rule applies. */
export function remedyOf({ remedy, fact, rules, isTold }: Finding, contract: PreparedContract | null): string {
  if (rules === undefined) return remedy
  const own = rules.flatMap(({ message }) => message ?? [])
  const messages = own.length > 0 ? own : [contract?.definition.message ?? []].flat()
  const told =
    messages.length === 0 || isTold === true ? remedy : [fact ?? remedy, ...new Set(messages.map(asSentence))].join(' ')
  const reasons = new Set(rules.flatMap(({ because }) => because ?? []))
  return reasons.size === 0 ? told : `${told} The rule applies because ${[...reasons].join(' and ')}.`
}

const asSentence = (words: string): string => (/[.!?]$/.test(words) ? words : `${words}.`)

const SHOWN_VALUE_LENGTH = 1_024
const SHOWN_REMEDY_LENGTH = 3_072

/** The first of them as they leave the engine: so many, or so many characters. Dozens of calls may have long ones. */
export function firstFailures(failures: readonly ContractFailure[]): ContractFailure[] {
  const first: ContractFailure[] = []
  let size = 0
  for (const failure of failures.slice(0, LIMITS.failuresPerRule)) {
    if (size > SHOWN_FAILURES_LENGTH) break
    const shown = shownFailure(failure)
    first.push(shown)
    size += sizeOf(shown)
  }
  return first
}

const SHOWN_FAILURES_LENGTH = 8_192

const sizeOf = ({ path, message, expected, found }: ContractFailure): number =>
  [path, message, expected, found].reduce<number>((sum, part) => sum + lengthOf(part), 0)

/** Of a list or an object a guess: to write it out would take longer than what is saved. */
const lengthOf = (part: JsonValue | undefined): number =>
  typeof part === 'string' ? part.length : typeof part === 'object' && part !== null ? SHOWN_VALUE_LENGTH / 4 : 8

/** A failure as it leaves the engine: nothing in it is long, and nothing deceives. */
export function shownFailure(failure: ContractFailure): ContractFailure {
  return {
    ...failure,
    ...shownValue('expected', failure),
    ...shownValue('found', failure),
    path: plainText(failure.path, SHOWN_VALUE_LENGTH),
    ...(failure.message === undefined ? {} : { message: plainText(failure.message, SHOWN_VALUE_LENGTH) }),
  }
}

/** A value shown with a failure: long text is cut and a large value left out, because many failures may repeat it. */
function shownValue(key: 'expected' | 'found', failure: ContractFailure): Partial<ContractFailure> {
  const value = failure[key]
  if (typeof value === 'string') return { [key]: cutText(value, SHOWN_VALUE_LENGTH) }
  if (typeof value !== 'object' || value === null || !isLong(value)) return {}
  return { [key]: Array.isArray(value) ? '(a long list)' : '(a large object)' }
}

/**
 * Many failures can show the same large value, so its text is not written to learn its length, and it is measured once.
 */
function isLong(value: JsonValue & object): boolean {
  const known = LONG.get(value)
  if (known !== undefined) return known
  const long = measuresLong(value)
  LONG.set(value, long)
  return long
}

const LONG = new WeakMap<object, boolean>()

function measuresLong(value: JsonValue): boolean {
  let left = SHOWN_VALUE_LENGTH
  const open: JsonValue[] = [value]
  for (let next = open.pop(); next !== undefined && left >= 0; next = open.pop()) {
    if (typeof next !== 'object' || next === null) left -= 1 + String(next).length
    else if (Array.isArray(next)) {
      left -= 2 + next.length
      if (left >= 0) open.push(...next)
    } else {
      const keys = Object.keys(next)
      left -= 2 + keys.length
      for (const key of left >= 0 ? keys : []) {
        left -= key.length + 3
        open.push(next[key] as JsonValue)
      }
    }
  }
  return left < 0
}

const SHOWN_NAME_LENGTH = 128

/** Quotes and cuts a name or key that the model made up, so that it cannot pass for a sentence of ours. */
export const quoted = (name: string): string =>
  plainText(JSON.stringify(cutText(name, SHOWN_NAME_LENGTH)), SHOWN_VALUE_LENGTH)

/** The path of a call's arguments in the response. */
export const argumentsAt = (index: number): string => `$.tool_calls[${index}].arguments`

/** A path inside the arguments, written from the response's root. */
export const argumentPath = (index: number, path: string): string => `${argumentsAt(index)}${path.slice(1)}`

/** True if one of these values is kept under one of the names. */
export function keepsOneOf(names: ReadonlySet<string>, kept: readonly PreparedBind[]): boolean {
  return kept.some(({ name }) => names.has(name))
}

/** A list for a sentence: `a, b or c`. */
export function oneOf(names: readonly string[]): string {
  const shown = names.slice(0, 8)
  if (shown.length <= 1) return shown.join('')
  return `${shown.slice(0, -1).join(', ')} or ${shown.at(-1)}`
}
