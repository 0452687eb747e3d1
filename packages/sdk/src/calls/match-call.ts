import { equalValues, parseStrictJson } from '@countersign/engine'
import type { JsonObject, JsonValue } from '@countersign/protocol'
import type { OpenCall } from '../authority/open-calls.js'
import { jsonOf } from '../base/written-json.js'
import type { ToolInvocation } from '../options/replay-options.js'

/** An invocation of which it is known what runs. */
export type CalledTool = ToolInvocation & Required<Pick<ToolInvocation, 'tool' | 'run'>>

export type Match =
  /** Run this call. `edited` names arguments that a schema of the program filled in, dropped or converted. */
  | { readonly call: OpenCall; readonly edited: readonly string[] }
  /** Run nothing. `call` is the one that was meant, where there is one, and `changed` names what differs from it. */
  | { readonly call: null; readonly meant: OpenCall | null; readonly changed: readonly string[] }

/**
 * The allowed call that the program means: the one with this id, or with these arguments. A schema between the model and
 * the tool may add defaults, strip keys and convert types; a value that means something else is another call.
 */
export function matchCall(allowed: readonly OpenCall[], { tool, args, callId }: CalledTool): Match {
  const candidates = allowed.filter((call) => call.toolName === tool && (callId === null || call.callId === callId))
  const other = candidates.length > 0 ? undefined : allowed.find((call) => call.callId === callId)
  if (other !== undefined) return { call: null, meant: other, changed: [TOOL] }
  const same = candidates.find((call) => readingsOf(args, call).some((reading) => isMeant(call, reading)))
  if (same !== undefined) return { call: same, edited: NONE }
  const [meant, ...others] = candidates
  if (meant === undefined || others.length > 0) return { call: null, meant: null, changed: NONE }
  const [given] = readingsOf(args, meant)
  const { edited, changed } = differencesOf(meantArguments(meant), given)
  // Without an id nothing but equal arguments says which call is meant.
  if (changed.length > 0 || callId === null) return { call: null, meant, changed: [...changed, ...edited] }
  return { call: meant, edited }
}

const NONE: readonly string[] = []

/** Those that the model wrote: a person may have set others in their place. */
const meantArguments = (call: OpenCall): JsonObject => (call.proposed as JsonObject | undefined) ?? call.arguments

/** Whether a program that passes these arguments means the call. */
export const isMeant = (call: OpenCall, given: JsonValue): boolean =>
  equalValues(meantArguments(call), given) || equalValues(call.arguments, given)

interface Differences {
  readonly edited: string[]
  readonly changed: string[]
}

function differencesOf(judged: JsonObject, given: JsonObject | undefined): Differences {
  const differences: Differences = { edited: [], changed: [] }
  const keys = Object.keys(given ?? {})
  const isOther = keys.length > 0 && !keys.some((key) => Object.hasOwn(judged, key)) && Object.keys(judged).length > 0
  if (given === undefined || isOther) differences.changed.push(WHOLE)
  else compare(judged, given, '', differences)
  return differences
}

const WHOLE = 'the arguments as a whole'
const TOOL = 'the tool'

function compare(judged: JsonValue, given: JsonValue, at: string, differences: Differences): void {
  if (equalValues(judged, given)) return
  if (isJsonObject(judged) && isJsonObject(given)) compareObjects(judged, given, at, differences)
  else if (Array.isArray(judged) && Array.isArray(given) && judged.length === given.length) {
    for (const [index, item] of judged.entries()) compare(item, given[index] ?? null, `${at}[${index}]`, differences)
  } else differences[isConverted(judged, given) ? 'edited' : 'changed'].push(at)
}

function compareObjects(judged: JsonObject, given: JsonObject, at: string, differences: Differences): void {
  const path = (key: string): string => (at === '' ? key : `${at}.${key}`)
  for (const [key, value] of Object.entries(judged)) {
    const other = Object.hasOwn(given, key) ? given[key] : undefined
    if (other === undefined) differences.edited.push(path(key))
    else compare(value, other, path(key), differences)
  }
  for (const key of Object.keys(given)) if (!Object.hasOwn(judged, key)) differences.edited.push(path(key))
}

/** The same value in another type: `"5"` and 5, `"true"` and true, a date and its ISO text. */
function isConverted(judged: JsonValue, given: JsonValue): boolean {
  if (judged === null || given === null || typeof judged === 'object' || typeof given === 'object') return false
  if (typeof judged === 'string' && typeof given === 'string') return isSameDate(judged, given)
  if (typeof judged === 'string' && typeof given === 'number') return judged.trim() !== '' && Number(judged) === given
  return String(judged) === String(given)
}

const ISO_DATE = /^\d{4}-\d\d-\d\d/

const isSameDate = (judged: string, given: string): boolean =>
  ISO_DATE.test(judged) && ISO_DATE.test(given) && Date.parse(judged) === Date.parse(given)

/** What may have been judged: the parsed object, or the text, JSON or not, that a custom tool takes. */
function readingsOf(given: unknown, { takesText }: OpenCall): JsonObject[] {
  const value = typeof given === 'string' ? objectIn(given) : jsonOf(given === undefined ? {} : given)
  const parsed = isJsonObject(value) ? [value] : []
  return takesText && typeof given === 'string' ? [...parsed, { input: given }] : parsed
}

const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function objectIn(text: string): unknown {
  const parsed = parseStrictJson(text)
  return parsed.ok ? parsed.value : null
}
