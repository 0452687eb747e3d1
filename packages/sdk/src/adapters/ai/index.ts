import { ReplayConfigError } from '../../base/errors.js'
import { addFrameworkTools, type GovernedSession } from '../governed-session.js'
import type { AiModel, AiTool, AiTools } from './ai-types.js'
import { governModel } from './govern-model.js'
import { governTools } from './govern-tools.js'
import type { AgentCalls } from './judge-parts.js'

/** An agent of the AI SDK, as far as it is governed. */
export interface AiAgent<Model extends AiModel, Tools extends AiTools> {
  /** A model object, such as `openai('gpt-5')`. */
  readonly model: Model
  /** The agent's tools. */
  readonly tools: Tools
  /**
   * Who answers the SDK's approval requests, for the record.
   * @defaultValue `'user'`
   */
  readonly approver?: string
}

/**
 * Governs an agent of the AI SDK, version 6 or 7: spread the result into `generateText`, `streamText` or
 * `new ToolLoopAgent`. A blocked call does not run, and the model is told why. A call that needs a person becomes an
 * approval request of the SDK.
 */
export function govern<Model extends AiModel, Tools extends AiTools>(
  session: GovernedSession,
  { model, tools, approver = 'user' }: AiAgent<Model, Tools>,
): { model: Model; tools: Tools } {
  if (typeof model !== 'object' || typeof model?.doGenerate !== 'function') {
    throw new ReplayConfigError(
      `govern takes a model object, not ${typeof model === 'string' ? 'the name of one' : typeof model}: pass openai('gpt-5') of @ai-sdk/openai, or gateway('openai/gpt-5') of ai`,
      null,
    )
  }
  if (!['v2', 'v3', 'v4'].includes(model.specificationVersion)) {
    throw new ReplayConfigError(
      `govern does not know models of the specification ${model.specificationVersion}: it takes those of ai 5, 6 and 7 (v2, v3, v4)`,
      null,
    )
  }
  const runnable = new Set(
    Object.keys(tools).filter((name) => typeof (tools[name] as AiTool | undefined)?.execute === 'function'),
  )
  addFrameworkTools(session, runnable)
  const agent: AgentCalls = { session, runs: (name) => runnable.has(name), waiting: new Set(), approver }
  return { model: governModel(model, agent), tools: governTools(tools, agent) }
}
