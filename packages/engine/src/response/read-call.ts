import { type JsonObject, type JsonValue, LIMITS, type Usage } from '@countersign/protocol'
import { checkStrictValue, holdsNul, parseStrictJson, type StrictJson } from '../json/strict-json.js'
import { cutText } from '../text/cut-text.js'
import type { FinishReason, ProviderRun, ToolCall } from './tool-call.js'

/** A call as the provider's format gives it; nothing is validated yet. */
export interface RawCall {
  readonly kind: ToolCall['kind']
  readonly choice: number
  readonly id: unknown
  readonly name: unknown
  /** JSON text, or the value itself. */
  readonly arguments: unknown
  /** Why the call cannot be interpreted. */
  readonly problem?: string
}

/** A tool that the provider ran, as its format gives it. */
export interface RawRun {
  readonly type: string
  readonly name: string | null
  readonly id: string | null
  /** JSON text, or the value itself. */
  readonly arguments: unknown
}

/** These are recorded as they are, so they must be small. */
export function toRun({ type, name, id, arguments: raw }: RawRun): ProviderRun {
  const bound = (text: string | null) => (text === null ? null : cutText(text, LIMITS.toolNameLength))
  const { value } = readArguments(raw)
  return { type: cutText(type, LIMITS.toolNameLength), name: bound(name), id: bound(id), arguments: value }
}

/** What the reader of one provider's format found. */
export interface RawResponse {
  readonly calls?: RawCall[]
  readonly providerRun?: RawRun[]
  readonly content?: string | null
  readonly finishReason?: FinishReason | null
  readonly model?: string | null
  readonly usage?: Usage | null
  readonly problems?: string[]
}

export function toCall(raw: RawCall, index: number, isRepeated: boolean): ToolCall {
  const read = readArguments(raw.arguments)
  const problem = raw.problem ?? nameProblem(raw, isRepeated) ?? read.problem
  return {
    // A longer one blocks the call, and the ledger stores this text for good.
    id: cutText(asText(raw.id) ?? '', LIMITS.idLength),
    name: cutText(asText(raw.name) ?? '', LIMITS.toolNameLength),
    index,
    choice: raw.choice,
    kind: raw.kind,
    argumentsText: read.text,
    arguments: problem === null ? read.value : null,
    problem,
  }
}

function nameProblem(raw: RawCall, isRepeated: boolean): string | null {
  if (typeof raw.id !== 'string' || raw.id === '') return 'the call has no id'
  if (raw.id.length > LIMITS.idLength) return `the call's id is longer than ${LIMITS.idLength} characters`
  if (typeof raw.name !== 'string' || raw.name === '') return 'the call has no tool name'
  if (raw.name.length > LIMITS.toolNameLength) return `the tool name is longer than ${LIMITS.toolNameLength} characters`
  if (!raw.id.isWellFormed() || !raw.name.isWellFormed()) return 'the id or the tool name is not well-formed text'
  return isRepeated ? 'two calls have the same id' : null
}

type ReadArguments = { text: string; value: JsonObject | null; problem: string | null }

function readArguments(raw: unknown): ReadArguments {
  if (typeof raw !== 'string') return readArgumentValue(raw)
  if (isTooLong(raw)) return { text: '', value: null, problem: TOO_LONG }
  // Providers stream a call without arguments as empty text.
  return raw === '' ? { text: '{}', value: {}, problem: null } : argumentsOf(raw, parseStrictJson(raw, ONE_READING))
}

function argumentsOf(text: string, parsed: StrictJson): ReadArguments {
  if (!parsed.ok) return { text, value: null, problem: `the arguments are refused: ${parsed.problem}` }
  if (holdsNul(text)) return { text, value: null, problem: HAS_NUL }
  return isObject(parsed.value)
    ? { text, value: parsed.value, problem: null }
    : { text, value: null, problem: NOT_AN_OBJECT }
}

function readArgumentValue(raw: unknown): ReadArguments {
  if (raw === undefined || raw === null) return { text: '', value: null, problem: 'the call has no arguments' }
  const problem = checkStrictValue(raw, { ...ONE_READING, maxParts: MOST_PARTS })
  if (problem !== null) return { text: '', value: null, problem: `the arguments are refused: ${problem}` }
  const text = JSON.stringify(raw)
  if (isTooLong(text)) return { text: '', value: null, problem: TOO_LONG }
  if (holdsNul(text)) return { text, value: null, problem: HAS_NUL }
  // A copy: the caller still holds the value that it gave, and may change it after the judgement.
  const value: JsonValue = JSON.parse(text)
  return isObject(value) ? { text, value, problem: null } : { text, value: null, problem: NOT_AN_OBJECT }
}

/** The tool may be of another language, whose readers pass over case or over invisible characters. */
const ONE_READING = { distinctNames: true }

/** Each takes at least two characters, so that more do not fit anyway. */
const MOST_PARTS = LIMITS.argumentBytesPerCall / 2
const TOO_LONG = `the arguments are longer than ${LIMITS.argumentBytesPerCall} bytes`
/** A tool written in C would stop reading there, while the rules judge the whole string. */
const HAS_NUL = 'the arguments are refused: a string holds the character NUL'
const NOT_AN_OBJECT = 'the arguments are not a JSON object'

function isTooLong(text: string): boolean {
  // A UTF-16 unit takes at most three bytes, so short text needs no count.
  if (text.length * 3 <= LIMITS.argumentBytesPerCall) return false
  return Buffer.byteLength(text) > LIMITS.argumentBytesPerCall
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function asRecord(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null
}

export function asText(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/** Null unless all counts are valid. The first input count and the output count are required; others default to 0. */
export function readUsage(usage: unknown, inputs: readonly [string, ...string[]], output: string): Usage | null {
  const record = asRecord(usage)
  if (record === null) return null
  const counts = inputs.map((name, at) => record[name] ?? (at === 0 ? undefined : 0))
  const total = counts.reduce<number>((sum, count) => (isCount(count) ? sum + count : Number.NaN), 0)
  const written = record[output]
  return isCount(total) && isCount(written) ? { input_tokens: total, output_tokens: written } : null
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
