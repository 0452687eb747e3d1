/** The parts of the OpenAI Agents SDK's types that the adapter uses: nothing of `@openai/agents` is imported. */

export interface AgentLike {
  readonly name: string
  readonly model: unknown
  handoffs: unknown[]
  clone(config: never): AgentLike
  getAllTools(...given: never[]): Promise<unknown[]>
  getEnabledHandoffs(...given: never[]): Promise<unknown[]>
}

/** An agent that work is handed to, with how. */
export interface HandoffLike {
  readonly toolName: string
  readonly agentName: string
  readonly agent: AgentLike
  onInvokeHandoff(context: unknown, args: string): unknown
  clone(overrides: object): HandoffLike
}

export interface FunctionTool {
  readonly type: 'function'
  readonly name: string
  /** What happens when its time is up: an error as its result, or an exception. */
  readonly timeoutBehavior?: string
  invoke(context: unknown, input: string, details?: InvokeDetails): unknown
  needsApproval?(context: unknown, input: unknown, callId?: string): Promise<boolean>
}

export interface InvokeDetails {
  readonly toolCall?: { readonly callId: string }
  readonly signal?: AbortSignal
}

/** Gives the model objects that agents name. */
export interface ModelProviderLike {
  getModel(name?: string): object | PromiseLike<object>
}

export interface ModelLike {
  getResponse(request: ModelRequest): Promise<ModelResponse>
  getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent>
  getRetryAdvice?(given: unknown): unknown
}

export interface ModelRequest {
  readonly systemInstructions?: string
  readonly input: string | readonly Item[]
  readonly tools: readonly { readonly type: string; readonly name: string; readonly parameters?: unknown }[]
  readonly handoffs: readonly { readonly toolName: string; readonly inputJsonSchema?: unknown }[]
  readonly modelSettings: { readonly toolChoice?: string }
}

/** An item of the input or of the output. */
export interface Item {
  readonly type?: string
  readonly role?: string
  readonly content?: unknown
  readonly callId?: string
  readonly name?: string
  readonly arguments?: string
  readonly output?: unknown
  readonly [more: string]: unknown
}

export interface ModelResponse {
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number }
  readonly output: readonly Item[]
}

export interface StreamEvent {
  readonly type: string
  readonly event?: unknown
  readonly response?: ModelResponse & { readonly id: string }
}
