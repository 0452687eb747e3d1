import { GatewayProblem } from '../base/problems.js'
import { measureBody } from './measure-body.js'
import type { GatewayRequest } from './route.js'

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?$/

/** The text of a body that is said to be JSON in UTF-8, not compressed, and is UTF-8. It may be parsed: it is not too much. */
export async function readJsonText({ headers, body, held }: GatewayRequest): Promise<string> {
  const type = (headers.get('content-type') ?? '').toLowerCase()
  const encoding = (headers.get('content-encoding') ?? 'identity').toLowerCase()
  if (!JSON_TYPE.test(type) || encoding !== 'identity') {
    throw new GatewayProblem(
      'content_type',
      'the body must be JSON in UTF-8, not compressed: set content-type: application/json',
    )
  }
  const bytes = await body()
  // The text is held already; parsed, its values take more.
  held.hold(Math.max(0, measureBody(bytes).bytes - 2 * bytes.length))
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new GatewayProblem('body_invalid', 'the body is not UTF-8')
  }
}
