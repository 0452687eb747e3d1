export type ModelApi = 'openai-chat' | 'openai-responses' | 'anthropic-messages'

/** What the model says, whatever the API. Calls without an id get one that is unique in this process. */
export interface Reply {
  text?: string
  calls?: { id?: string; name: string; arguments: unknown }[]
  model?: string
  usage?: { input: number; output: number }
}

export function apiOfPath(path: string): ModelApi | null {
  if (path.endsWith('/chat/completions')) return 'openai-chat'
  if (path.endsWith('/responses')) return 'openai-responses'
  return path.endsWith('/messages') ? 'anthropic-messages' : null
}

export function renderResponse(api: ModelApi, reply: Reply): JsonObject {
  return RENDERERS[api].whole(filled(reply))
}

export function renderEvents(api: ModelApi, reply: Reply, { includeUsage = false } = {}): JsonObject[] {
  return RENDERERS[api].events(filled(reply), includeUsage)
}

type JsonObject = { [key: string]: unknown }

interface Filled {
  /** Empty when the model says nothing. */
  text: string
  /** Arguments as JSON text; a string is taken as it is, so that a test can send what is no JSON. */
  calls: { id: string; name: string; json: string }[]
  model: string
  usage: { input: number; output: number }
  serial: number
}

let serial = 0

function filled(reply: Reply): Filled {
  serial += 1
  const calls = (reply.calls ?? []).map((call, index) => ({
    id: call.id ?? `call_${serial}_${index}`,
    name: call.name,
    json: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments ?? {}),
  }))
  const usage = reply.usage ?? { input: 10, output: 5 }
  return { text: reply.text ?? '', calls, model: reply.model ?? 'loopback-1', usage, serial }
}

const RENDERERS: Record<
  ModelApi,
  { whole(reply: Filled): JsonObject; events(reply: Filled, includeUsage: boolean): JsonObject[] }
> = {
  'openai-chat': { whole: chatWhole, events: chatEvents },
  'openai-responses': { whole: responseWhole, events: responseEvents },
  'anthropic-messages': { whole: messageWhole, events: messageEvents },
}

function chatEnvelope(reply: Filled, object: string): JsonObject {
  return { id: `chatcmpl-${reply.serial}`, object, created: 1_700_000_000, model: reply.model }
}

function chatUsage({ usage }: Filled): JsonObject {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
  }
}

function chatWhole(reply: Filled): JsonObject {
  const calls = reply.calls.map(({ id, name, json }) => ({ id, type: 'function', function: { name, arguments: json } }))
  return {
    ...chatEnvelope(reply, 'chat.completion'),
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: reply.text === '' ? null : reply.text,
          refusal: null,
          ...(calls.length > 0 ? { tool_calls: calls } : {}),
        },
        logprobs: null,
        finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
      },
    ],
    usage: chatUsage(reply),
  }
}

function chatEvents(reply: Filled, includeUsage: boolean): JsonObject[] {
  const envelope = chatEnvelope(reply, 'chat.completion.chunk')
  const chunk = (delta: JsonObject, finish_reason: string | null = null): JsonObject => ({
    ...envelope,
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    ...(includeUsage ? { usage: null } : {}),
  })
  return [
    chunk({ role: 'assistant', content: reply.text === '' ? null : '' }),
    ...pieces(reply.text).map((content) => chunk({ content })),
    ...reply.calls.flatMap(({ id, name, json }, index) => [
      chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
      ...pieces(json).map((part) => chunk({ tool_calls: [{ index, function: { arguments: part } }] })),
    ]),
    chunk({}, reply.calls.length > 0 ? 'tool_calls' : 'stop'),
    ...(includeUsage ? [{ ...envelope, choices: [], usage: chatUsage(reply) }] : []),
  ]
}

function responseItems(reply: Filled): JsonObject[] {
  const message = {
    id: `msg_${reply.serial}`,
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: reply.text, annotations: [], logprobs: [] }],
  }
  const calls = reply.calls.map(({ id, name, json }) => ({
    id: `fc_${id}`,
    type: 'function_call',
    status: 'completed',
    arguments: json,
    call_id: id,
    name,
  }))
  return [...(reply.text === '' ? [] : [message]), ...calls]
}

function responseWhole(reply: Filled): JsonObject {
  return {
    id: `resp_${reply.serial}`,
    object: 'response',
    created_at: 1_700_000_000,
    status: 'completed',
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    model: reply.model,
    output: responseItems(reply),
    parallel_tool_calls: true,
    temperature: 1,
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    usage: {
      input_tokens: reply.usage.input,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: reply.usage.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: reply.usage.input + reply.usage.output,
    },
  }
}

function responseEvents(reply: Filled): JsonObject[] {
  const response = responseWhole(reply)
  const begun = { ...response, status: 'in_progress', output: [], usage: null }
  const events: JsonObject[] = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...responseItems(reply).flatMap((item, output_index) => itemEvents(item, output_index)),
    { type: 'response.completed', response },
  ]
  return events.map((event, sequence_number) => ({ ...event, sequence_number }))
}

function itemEvents(item: JsonObject, output_index: number): JsonObject[] {
  const at = { item_id: item.id, output_index }
  const done = { type: 'response.output_item.done', output_index, item }
  if (item.type === 'function_call') {
    const json = String(item.arguments)
    return [
      { type: 'response.output_item.added', output_index, item: { ...item, status: 'in_progress', arguments: '' } },
      ...pieces(json).map((delta) => ({ type: 'response.function_call_arguments.delta', ...at, delta })),
      { type: 'response.function_call_arguments.done', ...at, name: item.name, arguments: json },
      done,
    ]
  }
  const [part] = item.content as { text: string }[]
  const inPart = { ...at, content_index: 0 }
  return [
    { type: 'response.output_item.added', output_index, item: { ...item, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', ...inPart, part: { ...part, text: '' } },
    ...pieces(part?.text ?? '').map((delta) => ({
      type: 'response.output_text.delta',
      ...inPart,
      delta,
      logprobs: [],
    })),
    { type: 'response.output_text.done', ...inPart, text: part?.text, logprobs: [] },
    { type: 'response.content_part.done', ...inPart, part },
    done,
  ]
}

function messageBlocks(reply: Filled): JsonObject[] {
  const text = reply.text === '' ? [] : [{ type: 'text', text: reply.text, citations: null }]
  return [...text, ...reply.calls.map(({ id, name, json }) => ({ type: 'tool_use', id, name, input: parsed(json) }))]
}

function messageWhole(reply: Filled): JsonObject {
  return {
    id: `msg_${reply.serial}`,
    type: 'message',
    role: 'assistant',
    model: reply.model,
    content: messageBlocks(reply),
    stop_reason: reply.calls.length > 0 ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: reply.usage.input, output_tokens: reply.usage.output },
  }
}

function messageEvents(reply: Filled): JsonObject[] {
  const whole = messageWhole(reply)
  const begun = {
    ...whole,
    content: [],
    stop_reason: null,
    usage: { input_tokens: reply.usage.input, output_tokens: 1 },
  }
  const starts = reply.text === '' ? [] : [{ start: { type: 'text', text: '' }, deltas: textDeltas(reply.text) }]
  const blocks = [
    ...starts,
    ...reply.calls.map(({ id, name, json }) => ({
      start: { type: 'tool_use', id, name, input: {} },
      deltas: pieces(json).map((partial_json) => ({ type: 'input_json_delta', partial_json })),
    })),
  ]
  return [
    { type: 'message_start', message: begun },
    ...blocks.flatMap(({ start, deltas }, index) => [
      { type: 'content_block_start', index, content_block: start },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: whole.stop_reason, stop_sequence: null },
      usage: { output_tokens: reply.usage.output },
    },
    { type: 'message_stop' },
  ]
}

function textDeltas(text: string): JsonObject[] {
  return pieces(text).map((part) => ({ type: 'text_delta', text: part }))
}

/** Streams cut texts anywhere; ours are cut every eight characters. */
function pieces(text: string): string[] {
  return text.match(/[\s\S]{1,8}/g) ?? []
}

/** A whole Anthropic message cannot hold malformed arguments: they are parsed on the wire. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return json
  }
}
