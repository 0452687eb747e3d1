import { kindOfBlock } from './kinds.js'
import { asRecord, asText, type RawCall, type RawResponse, type RawRun, readUsage } from './read-call.js'
import type { FinishReason } from './tool-call.js'

const STOP_REASONS: ReadonlyMap<unknown, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['pause_turn', 'stop'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter'],
] as const)

/** Reads a message of the Messages API. */
export function readAnthropic(response: Record<string, unknown>): RawResponse {
  const calls: RawCall[] = []
  const providerRun: RawRun[] = []
  const texts: string[] = []
  for (const item of response.content as unknown[]) {
    const block = asRecord(item) ?? {}
    const type = asText(block.type) ?? ''
    if (type === 'text') texts.push(asText(block.text) ?? '')
    else if (kindOfBlock(block) === 'call') {
      calls.push({ kind: 'function', choice: 0, id: block.id, name: block.name, arguments: block.input })
    } else if (kindOfBlock(block) === 'run') {
      providerRun.push({ type, name: asText(block.name), id: asText(block.id), arguments: block.input })
    }
  }
  return {
    calls,
    providerRun,
    content: texts.length === 0 ? null : texts.join(''),
    finishReason: STOP_REASONS.get(response.stop_reason) ?? null,
    model: asText(response.model),
    // This provider counts cached tokens separately; they are input all the same.
    usage: readUsage(
      response.usage,
      ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'],
      'output_tokens',
    ),
  }
}
