/** What a tool of an MCP server gives. */
export interface ToolResult {
  readonly content?: unknown
  readonly structuredContent?: unknown
  readonly isError?: boolean
}

/** The tool says itself that it failed. The model is told in the tool's own words. */
export class ToolFailed extends Error {
  override readonly name = 'ToolFailed'

  constructor(readonly result: ToolResult) {
    super('the tool failed')
  }
}

/** What contracts read of a result: the structured content, else the text, else the content. Throws where it failed. */
export function contentOf(result: ToolResult): unknown {
  if (result.isError === true) throw new ToolFailed(result)
  return result.structuredContent ?? textOf(result.content)
}

/** The text of a list of text blocks; anything else as it is. */
export function textOf(content: unknown): unknown {
  if (!Array.isArray(content) || content.length === 0) return content
  const texts = content.map((block: { type?: unknown; text?: unknown } | null) =>
    block?.type === 'text' && typeof block.text === 'string' ? block.text : null,
  )
  return texts.includes(null) ? content : texts.join('\n')
}
