import type { BlockReason, NarrowedTool } from '@countersign/protocol'
import { ReplayConfigError } from '../base/errors.js'
import { isObject, type JsonObject, text } from '../base/json-object.js'
import { type NeutralCall, type NeutralRequest, neutralProvider } from '../providers/neutral.js'
import type { Provider } from '../providers/provider.js'
import { whole } from '../turn/read-answer.js'
import type { Asked } from '../turn/read-request.js'
import { beginTurn, type Turn } from '../turn/turn.js'
import type { SessionContext } from './core/session-context.js'
import type { CallVerdict, DecidedAnswer } from './core/verdicts.js'

/** A request to a model. With a `key`, another request with the same key is a retry and gets the same turn. */
export interface TurnInput extends NeutralRequest {
  /** What retries of one model call have in common, compared by identity. */
  key?: unknown
  /**
   * Calls of others in the same session, by id, of whose outcome this request knows nothing. The turn waits for them a
   * little, and is refused while one has no outcome.
   */
  waitsFor?: (callId: string) => boolean
  /**
   * `own` where the runtime passes the model's arguments, not those of the verdict: then no person can change
   * them.
   */
  runs?: 'judged' | 'own'
}

/** What a model answered. */
export interface TurnAnswer {
  /** The calls of the answer, in their order. */
  calls?: readonly NeutralCall[]
  /** What the model said besides. */
  text?: string
  /** Why it stopped. */
  finishReason?: 'stop' | 'tool_calls' | 'length' | 'content_filter'
  /** The model that answered, if it is another than was asked for. */
  model?: string
  /** Counted against cost limits. */
  usage?: { inputTokens: number; outputTokens: number }
  /** Tools that the provider ran itself. They can be counted, not stopped. */
  providerRun?: readonly { type: string; name?: string; id?: string; arguments?: unknown }[]
}

/** One governed call of a model: ask it with the allowed tools, then propose its answer. */
export interface SessionTurn {
  /** The tools that the model may be offered, by name. */
  readonly allowed: readonly string[]
  /** The tools that it may not be offered, and why. */
  readonly removed: readonly NarrowedTool[]
  /** A system text for the model about the removed tools; null unless `narrowingFeedback` is `inject`. */
  readonly feedback: string | null
  /** The model must not be asked at all; null where it may. */
  readonly refusal: TurnRefusal | null
  /** Judges an answer of the model as a whole. The same answer again gives the same verdicts. */
  propose(answer: TurnAnswer): Promise<readonly CallVerdict[]>
  /** The model was asked in vain, and will not be asked again. */
  abandon(error?: unknown): Promise<void>
}

/** Why a model must not be asked. */
export interface TurnRefusal {
  /** The rule that refuses it. */
  readonly reason: BlockReason
  /** To be said in place of the model's answer. */
  readonly remedy: string
}

interface HowTurn {
  readonly waitsFor: TurnInput['waitsFor'] | undefined
  readonly runs: TurnInput['runs'] | undefined
}

/** Makes the turns of a session that no client or `fetch` of ours makes. */
export interface TurnMaker {
  prepare(input: TurnInput): Promise<SessionTurn>
}

export function createTurnMaker(session: SessionContext): TurnMaker {
  const providers = new Map<string, Provider>()
  const retried = new Map<unknown, Promise<SessionTurn>>()

  const providerOf = (name: string): Provider => {
    const known = providers.get(name)
    if (known !== undefined) return known
    const made = neutralProvider(name)
    if (providers.size < MOST_PROVIDERS) providers.set(name, made)
    return made
  }

  const prepare = async (request: JsonObject, { waitsFor, runs }: HowTurn, onEnd: () => void): Promise<SessionTurn> => {
    session.assertUsable()
    // The approved plan may still be on its way.
    await session.ready()
    refuseUnwrapped(session, request)
    let verdict: readonly CallVerdict[] = []
    const onDecided = (answer: DecidedAnswer): void => {
      verdict = session.verdicts.take(answer, session.approver)
    }
    const provider = providerOf(text(request.provider))
    const turn = beginTurn(session, provider, { retries: 0, asksLater: true, onDecided, waitsFor, runs })
    const asked = await turn.prepare(request)
    asked.sentAtMs = performance.now()
    const judge = async (response: JsonObject): Promise<readonly CallVerdict[]> => {
      await turn.judge(asked, whole(response))
      return verdict
    }
    return turnOf({ asked, turn, judge, onEnd })
  }

  return {
    async prepare(input) {
      if (!isObject(input)) throw wrongInput('it is not an object')
      const { key, waitsFor, runs, ...rest } = input
      const how = { waitsFor, runs }
      const request = checkedRequest(rest)
      if (key === undefined) return prepare(request, how, () => {})
      const underWay = retried.get(key)
      if (underWay !== undefined) return underWay
      const forget = (): void => {
        if (retried.get(key) === made) retried.delete(key)
      }
      const made = prepare(request, how, forget)
      retried.set(key, made)
      // A turn that is neither proposed nor abandoned would be remembered for ever.
      if (retried.size > MOST_RETRIED) retried.delete(retried.keys().next().value)
      made.catch(forget)
      return made
    },
  }
}

/** Retries follow at once: few turns of a session are begun between two attempts at one. */
const MOST_RETRIED = 64

/** The names of providers come from the program: enough for all that exist, and no more. */
const MOST_PROVIDERS = 64

interface PreparedParts {
  readonly asked: Asked
  readonly turn: Turn
  judge(response: JsonObject): Promise<readonly CallVerdict[]>
  /** The turn has been proposed or given up: a request with its key begins another. */
  onEnd(): void
}

function turnOf({ asked, turn, judge, onEnd }: PreparedParts): SessionTurn {
  const { said, sent, stance, prepared } = asked
  const isRefused = said !== null
  let proposed: { readonly text: string; readonly verdicts: Promise<readonly CallVerdict[]> } | null = null
  let isOver = isRefused
  if (isRefused) onEnd()
  return {
    allowed: Object.freeze(isRefused ? [] : toolNames(sent)),
    removed: Object.freeze(stance === 'enforce' ? [...(prepared?.removed ?? [])] : []),
    feedback: text(sent.feedback) || null,
    refusal: said && Object.freeze({ reason: said.reason, remedy: said.text }),
    async propose(answer) {
      const response = responseOf(answer)
      const text = JSON.stringify(response)
      if (proposed?.text === text) return proposed.verdicts
      if (isOver) throw new ReplayConfigError(isRefused ? REFUSED : OVER, null)
      isOver = true
      onEnd()
      proposed = { text, verdicts: judge(response) }
      return proposed.verdicts
    },
    async abandon() {
      if (isOver) return
      isOver = true
      onEnd()
      await turn.abandon(asked, { why: 'failed', response: null })
    },
  }
}

const REFUSED = 'this turn was refused: answer with its remedy instead of asking the model'
const OVER = 'this turn has ended: prepare another one for another answer of the model'

/** The request itself, with an empty list in place of one that was not given. */
function checkedRequest(request: JsonObject): JsonObject {
  if (typeof request.model !== 'string') throw wrongInput('model is not a string')
  const { tools = [], messages = [] } = request
  if (!Array.isArray(tools) || tools.some((tool) => nameOf(tool) === '')) {
    throw wrongInput('tools is not a list of names, or of definitions with a name')
  }
  if (!Array.isArray(messages)) throw wrongInput('messages is not a list')
  return Object.assign(request, { tools, messages })
}

const wrongInput = (problem: string): ReplayConfigError =>
  new ReplayConfigError(
    `a turn cannot be prepared: ${problem}. Pass { model, tools, messages }, such as ` +
      "{ model: 'gpt-4o', tools: ['pay'], messages: [{ role: 'user', text: 'Pay it' }] }",
    null,
  )

const nameOf = (tool: unknown): string => (typeof tool === 'string' ? tool : isObject(tool) ? text(tool.name) : '')

const toolNames = ({ tools }: JsonObject): string[] => (Array.isArray(tools) ? tools.map(nameOf) : [])

/** What only a wrapper can check must have one by the time the model is offered the tool. */
function refuseUnwrapped(session: SessionContext, request: JsonObject): void {
  const { settings } = session
  // Those of a shared session are checked before its calls are released.
  if (!settings.addsTools || settings.shared !== null || !session.mayBlock()) return
  const { contracts } = session.authority().plan
  for (const name of toolNames(request)) {
    const constrained = (contracts.get(name)?.executionConstraints.length ?? 0) > 0
    if (!constrained || settings.tools?.has(name)) continue
    throw new ReplayConfigError(
      `the contract of ${name} has execution_constraints, which only a wrapped tool can check: ` +
        `pass ${name} in the option tools, or to session.addTools`,
      'constraints_without_wrapper',
    )
  }
}

function responseOf(answer: TurnAnswer): JsonObject {
  const { calls = [], text: said, finishReason, model, usage, providerRun } = answer
  return {
    tool_calls: calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args })),
    ...(said !== undefined && { content: said }),
    ...(finishReason !== undefined && { finish_reason: finishReason }),
    ...(model !== undefined && { model }),
    ...(usage !== undefined && {
      usage: { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens },
    }),
    ...(providerRun !== undefined && { provider_run: providerRun }),
  }
}
