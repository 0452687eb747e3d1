/** The parts of the AI SDK's types that the adapter uses, of versions 6 and 7: nothing of `ai` is imported. */

/** A language model object, such as `openai('gpt-5')`. */
export interface AiModel {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  readonly supportedUrls?: unknown
  doGenerate(options: never): PromiseLike<object>
  doStream(options: never): PromiseLike<object>
}

/** The tools of an agent, by name. */
export type AiTools = Readonly<Record<string, object>>

export interface CallOptions {
  readonly prompt: readonly PromptMessage[]
  readonly tools?: readonly OfferedTool[]
  readonly toolChoice?: { readonly type: string; readonly toolName?: string }
}

export interface OfferedTool {
  readonly type: string
  readonly name: string
  readonly inputSchema?: unknown
}

export interface PromptMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string | readonly PromptPart[]
}

export interface PromptPart {
  readonly type: string
  readonly text?: string
  readonly toolCallId?: string
  readonly toolName?: string
  readonly input?: unknown
  readonly providerExecuted?: boolean
  readonly output?: ToolOutput
}

export interface ToolOutput {
  readonly type: string
  readonly value?: unknown
  readonly reason?: string
}

/** A part of an answer, whole or streamed. */
export interface AnswerPart {
  readonly type: string
  readonly text?: string
  readonly delta?: string
  /** Of a streamed part: its text block, or the call whose input it carries. */
  readonly id?: string
  readonly toolCallId?: string
  readonly toolName?: string
  /** JSON text. */
  readonly input?: string
  readonly providerExecuted?: boolean
  readonly finishReason?: FinishReason
  readonly usage?: Usage
  readonly modelId?: string
}

/** A word up to version 5 of the SDK, then with what the provider said. */
export type FinishReason = string | { readonly unified: string; readonly raw: string | undefined }

type Tokens = number | { readonly total?: number | undefined }
export interface Usage {
  readonly inputTokens?: Tokens
  readonly outputTokens?: Tokens
}

export interface Generated {
  readonly content: readonly AnswerPart[]
  readonly finishReason: FinishReason
  readonly usage: Usage
  readonly response?: { readonly modelId?: string }
}

export interface Streamed {
  readonly stream: ReadableStream<AnswerPart>
}

export interface ExecuteOptions {
  readonly toolCallId: string
  readonly abortSignal?: AbortSignal
}

export interface AiTool {
  readonly inputSchema?: unknown
  execute?(input: unknown, options: ExecuteOptions): unknown
  needsApproval?: boolean | ((input: unknown, options: ExecuteOptions) => boolean | PromiseLike<boolean>)
}
