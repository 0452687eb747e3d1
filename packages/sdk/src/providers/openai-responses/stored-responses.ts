import { isObject, type JsonObject, objects, text, without } from '../../base/json-object.js'
import type { StoredConversations, Thread } from '../stored-conversations.js'
import { callsExcept } from './openai-responses-calls.js'

/** Responses are stored by the provider, alone (`previous_response_id`) or in a `conversation`. */
export const storedResponses: StoredConversations = {
  threadOf,
  onThread: (request, thread, items) => ({
    ...without(request, 'previous_response_id', 'conversation'),
    ...(thread?.kind === 'response' && { previous_response_id: thread.id }),
    ...(thread?.kind === 'conversation' && { conversation: thread.id }),
    input: [...items, ...inputItems(request)],
  }),
  itemsOf: inputItems,
  callsExcept: (response, shownIds) => [...callsExcept(objects(response.output), shownIds)],
  answerTo(call, why) {
    const answer = ANSWERS.get(text(call.type))
    if (answer === undefined) return null
    // A call that a program of the provider's made is answered to that program.
    const caller = call.caller === undefined ? {} : { caller: call.caller }
    return { type: `${text(call.type)}_output`, call_id: call.call_id, ...answer(why), ...caller }
  },
  saidItem: (said) => ({ role: 'assistant', content: said }),
  saidInsteadId,
}

/** The id of a response that the provider never made. */
export function saidInsteadId(id: string): string {
  return `resp_countersign_${id}`
}

/** How a call is answered that was not run. Others, such as `computer_call`, take what only the program has. */
const ANSWERS = new Map<string, (why: string) => JsonObject>([
  ['function_call', (why) => ({ output: why })],
  ['custom_tool_call', (why) => ({ output: why })],
  ['apply_patch_call', (why) => ({ status: 'failed', output: why })],
  ['shell_call', (why) => ({ output: [{ stdout: '', stderr: why, outcome: { type: 'exit', exit_code: 1 } }] })],
])

export function inputItems(request: JsonObject): unknown[] {
  if (Array.isArray(request.input)) return request.input
  return typeof request.input === 'string' ? [{ role: 'user', content: request.input }] : []
}

function threadOf({ previous_response_id: previous, conversation }: JsonObject): Thread | null {
  const id = isObject(conversation) ? conversation.id : conversation
  if (typeof id === 'string') return { kind: 'conversation', id }
  return typeof previous === 'string' ? { kind: 'response', id: previous } : null
}
