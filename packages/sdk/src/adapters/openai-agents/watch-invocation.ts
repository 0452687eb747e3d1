import { ReplayConfigError } from '../../base/errors.js'
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
 * the tool has failed. No public hook tells as much: a tool keeps its `errorFunction` to itself.
 */
export function watchInvocation(tool: FunctionTool, given: InvokeDetails, signal: AbortSignal): WatchedInvocation {
  const parsed = symbolOf(given, PARSED)
  const policy = symbolOf(given, POLICY)
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

const PARSED = 'openai.agents.functionToolParsedInputCallback'
const POLICY = 'functionToolTraceIncludeSensitiveData'

/** Throws for a version of the SDK that does not tell: there a tool that failed would count as done. */
export function requireTelling(tool: FunctionTool, given: InvokeDetails): void {
  const isMadeByTool = tool.timeoutBehavior !== undefined
  if (!isMadeByTool || (symbolOf(given, PARSED) !== undefined && symbolOf(given, POLICY) !== undefined)) return
  throw new ReplayConfigError(
    `${tool.name} did not run: the installed version of @openai/agents does not tell a tool that failed from one that ` +
      'succeeded, so that a failure would count as done. @countersign/sdk/openai-agents supports @openai/agents ' +
      '0.19 and 0.20: install one of them, or a version of @countersign/sdk that names yours',
    null,
  )
}

/** What the SDK returns for a tool that threw, unless the tool has an `errorFunction` of its own. */
const DEFAULT_ERROR = 'An error occurred while running the tool. Please try again.'

const symbolOf = (details: object, description: string): symbol | undefined =>
  Object.getOwnPropertySymbols(details).find((symbol) => symbol.description === description)

const descriptorOf = (details: object, key: symbol | undefined): PropertyDescriptor =>
  (key === undefined ? undefined : Object.getOwnPropertyDescriptor(details, key)) ?? {}
