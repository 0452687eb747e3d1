import { ReplayConfigError } from '../../base/errors.js'
import type { Session } from '../../session/session.js'
import { addFrameworkTools, createAgentTurns, type GovernedSession } from '../governed-session.js'
import type { AgentLike, FunctionTool, HandoffLike, ModelLike, ModelProviderLike } from './agents-types.js'
import { type GovernedAgent, governModel } from './govern-model.js'
import { governTool } from './govern-tool.js'

/** A session that can hand work on. */
export type AgentSession = GovernedSession & Pick<Session<unknown>, 'handoff' | 'completeHandoff'>

/** Where the session of a receiving agent joins: pass role and id in the option `workflow` of `openSession`. */
export interface HandoffTo {
  /** The name of the agent that work is handed to. */
  readonly agent: string
  readonly role: string
  readonly handoffId: string
}

export interface AgentsOptions {
  /** Gives the models that agents name: `new OpenAIProvider()`. Not needed for agents with a model object. */
  readonly modelProvider?: ModelProviderLike
  /**
   * Opens the session of an agent that work is handed to. Each handoff is then one of the workflow that the session is
   * in, whose rules judge it. Without it, all agents of a run share the session, and handoffs are judged like tools.
   */
  readonly onHandoff?: (to: HandoffTo) => AgentSession | Promise<AgentSession>
  /**
   * The role of an agent in the workflow.
   * @defaultValue its name
   */
  readonly roleOf?: (agentName: string) => string
  /**
   * Who answers the SDK's approval requests, for the record.
   * @defaultValue `'user'`
   */
  readonly approver?: string
}

/**
 * Governs an agent of the OpenAI Agents SDK, and every agent that it can hand work to: run the agent that this returns,
 * in place of the given one. A blocked call does not run, and the model is told why. A call that needs a person becomes
 * an interruption of the run.
 */
export function govern<Agent extends AgentLike>(
  session: AgentSession,
  agent: Agent,
  options: AgentsOptions = {},
): Agent {
  const governed = new Map<AgentLike, Node>()
  const nodeOf = (given: AgentLike): Node =>
    governed.get(given) ?? governNode(given, session, { options, governed, nodeOf })
  return nodeOf(agent).agent as Agent
}

interface Node {
  readonly agent: AgentLike
  session: AgentSession
  /** Who handed the work to this agent; null for the agent that the run begins with. */
  from: Node | null
  /** The agent goes on under another session. */
  bind(session: AgentSession, from: Node): void
}

interface Run {
  readonly options: AgentsOptions
  readonly governed: Map<AgentLike, Node>
  nodeOf(agent: AgentLike): Node
}

function governNode(given: AgentLike, session: AgentSession, run: Run): Node {
  const { options, governed } = run
  const tools = new WeakMap<object, FunctionTool>()
  const names = new Set<string>()
  const shared: GovernedAgent = {
    session: () => node.session,
    askInTurn: createAgentTurns(session),
    runs: (name) => names.has(name),
    judgesHandoffs: options.onHandoff === undefined,
    asked: new Set(),
    approver: options.approver ?? 'user',
  }
  const agent = given.clone({ model: governModel(...modelOf(given, options), shared), handoffs: [] } as never)
  const node: Node = {
    agent,
    session,
    from: null,
    bind(other, giver) {
      node.session = other
      node.from = giver
      shared.askInTurn = createAgentTurns(other)
      names.clear()
    },
  }
  governed.set(given, node)
  const getAllTools = agent.getAllTools.bind(agent) as (...context: unknown[]) => Promise<unknown[]>
  agent.getAllTools = async (...context: unknown[]) => {
    const all = await getAllTools(...context)
    const functions = all.filter(isFunctionTool)
    const added = functions.map(({ name }) => name).filter((name) => !names.has(name))
    if (added.length > 0) addFrameworkTools(node.session, added)
    for (const name of added) names.add(name)
    return all.map((tool) => (isFunctionTool(tool) ? governedOnce(tool) : tool))
  }
  const governedOnce = (tool: FunctionTool): FunctionTool => {
    const made = tools.get(tool) ?? governTool(tool, shared)
    tools.set(tool, made)
    return made
  }
  agent.handoffs = given.handoffs.map((target) =>
    isHandoff(target) ? target.clone({ agent: run.nodeOf(target.agent).agent }) : run.nodeOf(target as AgentLike).agent,
  )
  if (options.onHandoff !== undefined) watchHandoffs(node, run)
  return node
}

const isFunctionTool = (tool: unknown): tool is FunctionTool => (tool as { type?: string }).type === 'function'

const isHandoff = (target: unknown): target is HandoffLike =>
  typeof (target as HandoffLike).onInvokeHandoff === 'function'

function modelOf({ model, name }: AgentLike, { modelProvider }: AgentsOptions): [string, () => Promise<ModelLike>] {
  if (typeof model === 'object' && model !== null) return [nameOfModel(model), async () => model as ModelLike]
  if (modelProvider === undefined) {
    throw new ReplayConfigError(
      `the agent ${name} names its model, and only a provider can give that: pass { modelProvider: new OpenAIProvider() }`,
      null,
    )
  }
  const named = typeof model === 'string' && model !== '' ? model : undefined
  return [named ?? '', async () => (await modelProvider.getModel(named)) as ModelLike]
}

const nameOfModel = (model: object): string => String((model as { model?: unknown }).model ?? '')

/** The handoffs that a model is offered, each telling the workflow before the work goes over. */
function watchHandoffs(node: Node, run: Run): void {
  const getEnabledHandoffs = node.agent.getEnabledHandoffs.bind(node.agent) as (
    context: unknown,
  ) => Promise<HandoffLike[]>
  node.agent.getEnabledHandoffs = async (context: unknown) =>
    (await getEnabledHandoffs(context)).map((handoff) => {
      const onInvokeHandoff = async (given: unknown, args: string) => {
        await handOver(node, handoff.agent, run)
        return handoff.onInvokeHandoff(given, args)
      }
      return handoff.clone({ onInvokeHandoff })
    })
}

async function handOver(from: Node, agent: AgentLike, { options, governed }: Run): Promise<void> {
  const to = [...governed.values()].find((node) => node.agent === agent)
  if (to === undefined || options.onHandoff === undefined) return
  // Handing work back completes the handoff through which it came.
  if (from.from === to) return void (await from.session.completeHandoff())
  const role = options.roleOf?.(agent.name) ?? agent.name
  const { handoff_id: handoffId } = await from.session.handoff({ toRole: role })
  to.bind(await options.onHandoff({ agent: agent.name, role, handoffId }), from)
}
