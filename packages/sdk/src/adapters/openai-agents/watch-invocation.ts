import type { FunctionTool, InvokeDetails } from './agents-types.js'

export interface WatchedInvocation {
  /** To invoke the tool with. */
  readonly details: InvokeDetails
  /** Whether the tool has done its work, where it returned this. */
  succeeded(output: unknown): boolean
}

/**
 * The SDK turns what a tool throws into a result, by the tool's `errorFunction`, and returns that like any other result.
 * On its way it looks at properties of the details that stand under symbols: one before the tool starts, one only where
 * the tool has failed. Where a version of the SDK has no such properties, its own text for an error tells.
 */
export function watchInvocation(tool: FunctionTool, given: InvokeDetails, signal: AbortSignal): WatchedInvocation {
  const parsed = symbolOf(given, 'openai.agents.functionToolParsedInputCallback')
  const policy = symbolOf(given, 'functionToolTraceIncludeSensitiveData')
  const { value: tellParsed } = descriptorOf(given, parsed) as { value?: (input: unknown) => void }
  const { value: isTraced } = descriptorOf(given, policy)
  // A tool that was not made by `tool()` tells nothing, and has no errorFunction.
  const tellsStart = parsed !== undefined && tool.timeoutBehavior !== undefined
  let started = false
  let failed = false
  const properties: PropertyDescriptorMap = {
    ...Object.getOwnPropertyDescriptors(given),
    signal: { value: signal, enumerable: true },
  }
  if (parsed !== undefined) {
    const value = (input: unknown): void => {
      started = true
      tellParsed?.(input)
    }
    properties[parsed] = { value, enumerable: true }
  }
  if (policy !== undefined) {
    const get = (): unknown => {
      failed = true
      return isTraced
    }
    properties[policy] = { get }
  }
  return {
    details: Object.create(Object.getPrototypeOf(given), properties),
    succeeded: (output) => !failed && (started || !tellsStart) && output !== DEFAULT_ERROR,
  }
}

/** What the SDK returns for a tool that threw, unless the tool has an `errorFunction` of its own. */
const DEFAULT_ERROR = 'An error occurred while running the tool. Please try again.'

const symbolOf = (details: object, description: string): symbol | undefined =>
  Object.getOwnPropertySymbols(details).find((symbol) => symbol.description === description)

const descriptorOf = (details: object, key: symbol | undefined): PropertyDescriptor =>
  (key === undefined ? undefined : Object.getOwnPropertyDescriptor(details, key)) ?? {}
