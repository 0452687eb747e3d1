/** The parts of LangChain's types that the adapter uses: nothing of `langchain` is imported. */

export interface ToolCall {
  readonly id?: string | undefined
  readonly name: string
  readonly args: unknown
}

/** A message of a conversation, whatever its kind. */
export interface Message {
  readonly type: string
  readonly text?: string
  readonly content: unknown
  readonly tool_call_id?: string
  readonly tool_calls?: readonly ToolCall[]
  readonly invalid_tool_calls?: readonly { readonly id?: string; readonly name?: string; readonly args?: string }[]
  readonly usage_metadata?: { readonly input_tokens: number; readonly output_tokens: number }
  readonly response_metadata?: Readonly<Record<string, unknown>>
  status?: string
}

/** A tool that runs here has `invoke`; the provider runs the others. */
export interface Tool {
  readonly name?: string
  readonly type?: string
  readonly schema?: unknown
  readonly invoke?: unknown
}

export interface ModelRequest {
  readonly model: { readonly model?: unknown; readonly modelName?: unknown; _llmType?(): string }
  readonly messages: readonly Message[]
  readonly systemPrompt?: string
  readonly tools?: readonly Tool[]
  readonly toolChoice?: unknown
}

/** An answer of the model, or what a structured response made of it. */
export type ModelResult = Message | { readonly structuredResponse: unknown; readonly messages: readonly Message[] }

export interface ToolRequest {
  readonly toolCall: ToolCall
  /** Undefined where the agent has no such tool. */
  readonly tool: unknown
  readonly runtime?: { readonly interrupt?: (value: unknown) => unknown; readonly signal?: AbortSignal }
}

/** A tool message, or a command to the graph. */
export type ToolResult = object

export type Handler<Request, Result> = (request: Request) => PromiseLike<Result> | Result
