import { type JsonObject, LIMITS, type Usage } from '@countersign/protocol'
import { cutText } from '../text/cut-text.js'
import { type WireFormat, withoutOddShapes } from './odd-shapes.js'
import { readAnthropic } from './read-anthropic.js'
import { asRecord, asText, type RawCall, type RawResponse, type RawRun, readUsage, toCall, toRun } from './read-call.js'
import { readOpenAiChat, readOpenAiResponses } from './read-openai.js'
import type { FinishReason, ProviderRun, ToolCall } from './tool-call.js'

/** The wire format that a response was recognised as. */
export type ResponseFormat = WireFormat | 'unknown'

/** A model response as the engine reads it, whatever its format. */
export interface ReadResponse {
  readonly format: ResponseFormat
  readonly calls: ToolCall[]
  readonly providerRun: ProviderRun[]
  readonly content: string | null
  /** Null if the provider gave none, an unknown one, or different ones for the alternatives of `n`. */
  readonly finishReason: FinishReason | null
  readonly model: string | null
  readonly usage: Usage | null
  /** What is wrong with the response as a whole. */
  readonly problems: string[]
}

/** Reads every tool call in a model's response. Never throws: what cannot be read is reported as a problem. */
export function readResponse(response: unknown): ReadResponse {
  const found = recognise(response)
  const { calls, repeated, runs } = callsIn(found)
  const read = calls.map((call, index) => toCall(call, index, isIn(repeated, call.id)))
  return toReadResponse(found, read, runs.map(toRun))
}

interface Recognised {
  readonly format: ResponseFormat
  readonly raw: RawResponse
}

function recognise(response: unknown): Recognised {
  const formats = formatsOf(response)
  const [format] = formats
  if (format === undefined || formats.length > 1) {
    const problem =
      format === undefined
        ? 'the response is not of a known shape: OpenAI chat, OpenAI Responses, Anthropic or { tool_calls }'
        : `the response has the marks of several shapes: ${formats.join(', ')}`
    return { format: 'unknown', raw: { problems: [problem] } }
  }
  const raw = READERS[format](asRecord(response) ?? {})
  const { problem } = withoutOddShapes(response, format, 'whole')
  return { format, raw: problem === null ? raw : { ...raw, problems: [...(raw.problems ?? []), problem] } }
}

/** The normalized response, on which contracts make their assertions. */
export function normalizeResponse(read: ReadResponse): JsonObject {
  return {
    content: read.content,
    finish_reason: read.finishReason,
    tool_calls: read.calls.map(({ id, name, argumentsText }) => ({ id, name, arguments: argumentsText })),
  }
}

const READERS: Record<WireFormat, (response: Record<string, unknown>) => RawResponse> = {
  'openai-chat': readOpenAiChat,
  'openai-responses': readOpenAiResponses,
  anthropic: readAnthropic,
  normalized: readNormalized,
}

function formatsOf(response: unknown): WireFormat[] {
  const record = asRecord(response)
  if (record === null) return []
  const formats: WireFormat[] = []
  if (Array.isArray(record.choices)) formats.push('openai-chat')
  if (Array.isArray(record.output)) formats.push('openai-responses')
  if (Array.isArray(record.content)) formats.push('anthropic')
  if (Array.isArray(record.tool_calls)) formats.push('normalized')
  return formats
}

const FINISH_REASONS: ReadonlySet<string> = new Set<FinishReason>(['stop', 'tool_calls', 'length', 'content_filter'])

function readNormalized(response: Record<string, unknown>): RawResponse {
  const calls: RawCall[] = (response.tool_calls as unknown[]).map((item) => {
    const call = asRecord(item) ?? {}
    return { kind: 'function', choice: 0, id: call.id, name: call.name, arguments: call.arguments }
  })
  const reason = response.finish_reason
  return {
    calls,
    providerRun: normalizedRuns(response.provider_run),
    content: asText(response.content),
    finishReason: typeof reason === 'string' && FINISH_REASONS.has(reason) ? (reason as FinishReason) : null,
    model: asText(response.model),
    usage: readUsage(response.usage, ['input_tokens'], 'output_tokens'),
  }
}

/** What a client says that the provider ran, where it does not send the response itself. */
function normalizedRuns(runs: unknown): RawRun[] {
  if (!Array.isArray(runs)) return []
  return runs.map((item) => {
    const run = asRecord(item) ?? {}
    return { type: asText(run.type) ?? '', name: asText(run.name), id: asText(run.id), arguments: run.arguments }
  })
}

interface CallsIn {
  readonly calls: readonly RawCall[]
  readonly repeated: ReadonlySet<string>
  readonly runs: readonly RawRun[]
}

function callsIn({ raw }: Recognised): CallsIn {
  const calls = (raw.calls ?? []).slice(0, LIMITS.callsPerProposal)
  const runs = (raw.providerRun ?? []).slice(0, LIMITS.callsPerProposal)
  return { calls, repeated: repeatedIds(calls), runs }
}

function toReadResponse({ format, raw }: Recognised, calls: ToolCall[], providerRun: ProviderRun[]): ReadResponse {
  const problems = [...(raw.problems ?? [])]
  const sent = raw.calls?.length ?? 0
  if (sent > LIMITS.callsPerProposal) {
    problems.push(`the response has ${sent} calls: at most ${LIMITS.callsPerProposal} are read`)
  }
  return {
    format,
    calls,
    providerRun,
    content: raw.content ?? null,
    finishReason: raw.finishReason ?? null,
    model: raw.model == null ? null : cutText(raw.model, LIMITS.toolNameLength),
    usage: raw.usage ?? null,
    problems,
  }
}

const NO_IDS: ReadonlySet<string> = new Set()

/** Ids are text: one that is not is a problem by itself. */
function repeatedIds(calls: readonly RawCall[]): ReadonlySet<string> {
  if (calls.length < 2) return NO_IDS
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const { id } of calls) if (typeof id === 'string') (seen.has(id) ? repeated : seen).add(id)
  return repeated
}

const isIn = (ids: ReadonlySet<string>, id: unknown): boolean => typeof id === 'string' && ids.has(id)
