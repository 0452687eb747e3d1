import type { ReadResponse } from '@countersign/engine'
import type { JsonValue } from '@countersign/protocol'
import { jsonOf } from '../../base/written-json.js'
import type { ProposalRequest } from '../authority.js'
import { isAboutContent } from '../refusals.js'
import { ServiceRefusal } from '../transport.js'

/**
 * Sends a model's response. Where the server cannot take all of it, what was read of it is sent alone: the request is
 * not used up by the refusal, its cost must count, and its calls can still be judged.
 */
export async function sendResponse<Reply>(
  { response, read }: Pick<ProposalRequest, 'response' | 'read'>,
  send: (response: JsonValue, isWhole: boolean) => Promise<Reply>,
): Promise<Reply> {
  // Hidden members of the client's objects stay behind.
  const whole = jsonOf(response)
  if (whole === undefined) return send(plainResponse(read), false)
  try {
    return await send(whole, true)
  } catch (error) {
    if (error instanceof ServiceRefusal && isAboutContent(error)) return send(plainResponse(read), false)
    throw error
  }
}

/** A call that cannot be judged goes without arguments, which blocks it. Null, where not even the calls can be read. */
function plainResponse({ content, finishReason, calls, providerRun, problems }: ReadResponse): JsonValue {
  if (problems.length > 0) return null
  return {
    content: content === null ? null : content.toWellFormed().replaceAll('\0', '\ufffd'),
    finish_reason: finishReason,
    provider_run: providerRun as unknown as JsonValue,
    tool_calls: calls.map(({ id, name, argumentsText, problem }) => ({
      id,
      name,
      arguments: problem === null ? argumentsText : null,
    })),
  }
}
