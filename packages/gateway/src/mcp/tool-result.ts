import type { JsonObject, JsonValue } from '@countersign/protocol'
import { NotExecutedError } from '@countersign/sdk'
import { isObject } from '../base/is-object.js'
import type { RpcResponse } from './message.js'

/** The upstream answered, and the tool did not do its work. The answer goes to the host as it came. */
export class ToolFailed extends Error {
  override readonly name = 'ToolFailed'
  readonly code: string

  constructor(code: string) {
    super('the tool failed')
    this.code = code
  }
}

/** What contracts read of a result: the structured content, else the text, else everything. Throws where there is none. */
export function evidenceOf({ result, error }: RpcResponse): JsonValue {
  if (result === null) throw new ToolFailed(`MCP_${error?.code ?? 'ERROR'}`)
  if (result.isError === true) throw new ToolFailed('MCP_TOOL_ERROR')
  // Nothing has happened yet: the host answers, and calls again.
  if (result.resultType === 'input_required') throw new NotExecutedError('the tool asks for input')
  // A task goes on after its answer: how it ends is unknown.
  if (isObject(result.task)) throw Object.assign(new Error('the tool runs as a task'), { name: 'AbortError' })
  if (result.structuredContent !== undefined) return result.structuredContent
  return textOf(result.content) ?? result
}

/** Null where the content is not text alone. */
function textOf(content: JsonValue | undefined): string | null {
  if (!Array.isArray(content) || content.length === 0) return null
  const texts = content.map((block) => (isObject(block) && block.type === 'text' ? block.text : null))
  return texts.every((text) => typeof text === 'string') ? texts.join('\n') : null
}

/** A refusal is a result, so that the model reads it; as an error of the protocol the host would keep it. */
export function refusedResult(text: string, isModern: boolean): JsonObject {
  return { ...(isModern && { resultType: 'complete' }), content: [{ type: 'text', text }], isError: true }
}

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'

/** Since 2026-07-28 every request says its version; before, the connection has one. */
export const isModernRequest = ({ _meta: meta }: JsonObject): boolean =>
  isObject(meta) && typeof meta[VERSION_KEY] === 'string'

const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities'

/** Whether the host lets its user open a page: a form of its own proves nothing about who answers. */
export function opensUrls({ _meta: meta }: JsonObject): boolean {
  if (!isObject(meta) || !isObject(meta[CAPABILITIES_KEY])) return false
  const { elicitation } = meta[CAPABILITIES_KEY]
  return isObject(elicitation) && isObject(elicitation.url)
}

interface Confirmation {
  readonly url: string
  readonly message: string
  readonly requestState: string
}

/** Since 2026-07-28: the host shows its user the page on which they answer, and calls again. */
export const confirmationRequired = ({ url, message, requestState }: Confirmation): JsonObject => ({
  resultType: 'input_required',
  inputRequests: { approval: { method: 'elicitation/create', params: { mode: 'url', message, url } } },
  requestState,
})
