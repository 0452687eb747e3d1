import { isLive } from '@countersign/protocol'
import type { CallVerdict } from '../../session/core/verdicts.js'
import type { SessionTurn } from '../../session/session-turn.js'
import { createAgentTurns } from '../governed-session.js'
import type { AiModel, AnswerPart, CallOptions, Generated, Streamed } from './ai-types.js'
import { governStream } from './govern-stream.js'
import { type AgentCalls, judgeParts, stopped } from './judge-parts.js'
import { answeredIds, deniedCalls, isClientCall, turnInput } from './neutral-turn.js'

/** A model that is offered the allowed tools only, and whose answers are judged before the SDK sees their calls. */
export function governModel<Model extends AiModel>(model: Model, agent: AgentCalls): Model {
  const askInTurn = createAgentTurns(agent.session)
  const ask = async <Result>(
    options: CallOptions,
    send: (options: CallOptions) => PromiseLike<Result>,
    take: (turn: SessionTurn, result: Result) => PromiseLike<Result> | Result,
    refuse: (remedy: string) => Result,
  ): Promise<Result> => {
    await resolveAnswered(agent, options.prompt)
    return askInTurn(turnInput(model, options), async (turn) => {
      if (turn.refusal !== null) return refuse(turn.refusal.remedy)
      return take(turn, await send(narrowed(options, turn)))
    })
  }

  const governed: AiModel = {
    specificationVersion: model.specificationVersion,
    get provider() {
      return model.provider
    },
    get modelId() {
      return model.modelId
    },
    get supportedUrls() {
      return model.supportedUrls
    },
    doGenerate: (options: CallOptions) =>
      ask(
        options,
        (narrow) => model.doGenerate(narrow as never) as PromiseLike<Generated>,
        (turn, result) => judgeGenerated(turn, result, agent),
        (remedy) => saidInstead(remedy, model.specificationVersion),
      ),
    doStream: (options: CallOptions) =>
      ask(
        options,
        (narrow) => model.doStream(narrow as never) as PromiseLike<Streamed>,
        (turn, result) => ({ ...result, stream: governStream(turn, result.stream, agent) }),
        (remedy) => ({ stream: streamInstead(remedy, model.specificationVersion) }),
      ),
  }
  return governed as Model
}

/** What the prompt says about earlier calls: a person refused one, or the SDK answered one without running it. */
async function resolveAnswered(
  { session, waiting, approver }: AgentCalls,
  prompt: CallOptions['prompt'],
): Promise<void> {
  for (const { isNew, ...call } of deniedCalls(prompt)) {
    const verdict = session.verdictOf(call.callId) ?? (isNew ? await askedElsewhere(session, call) : null)
    if (verdict?.verdict !== 'ask') continue
    // The program does not want a call that people are asked about.
    if (verdict.asks === 'people') await session.withdraw(verdict.id).catch(() => {})
    else await session.answer(verdict.id, { decision: 'deny', decided_by: approver })
  }
  const answered = answeredIds(prompt)
  for (const id of [...waiting]) {
    if (!answered.has(id)) continue
    waiting.delete(id)
    if (session.verdictOf(id)?.verdict === 'allow') await session.settle(id, { outcome: 'not_executed' })
  }
}

/** What was refused here had been asked in another process: that it was refused is put on record all the same. */
async function askedElsewhere(
  session: AgentCalls['session'],
  call: Parameters<typeof session.proposeAgain>[0],
): Promise<CallVerdict | null> {
  const question = await session.questionOf(call.callId, call.tool).catch(() => null)
  if (question === null) return session.proposeAgain(call).catch(() => null)
  if (isLive(question.state)) await session.withdraw(question.questionId).catch(() => {})
  return null
}

function narrowed(options: CallOptions, { allowed, feedback }: SessionTurn): CallOptions {
  const { tools, toolChoice, prompt } = options
  if (tools === undefined || tools.length === 0) return options
  const names = new Set(allowed)
  const left = tools.filter(({ name }) => names.has(name))
  if (left.length === tools.length && feedback === null) return options
  const { tools: _, toolChoice: __, ...rest } = options
  const isForced = toolChoice?.type === 'tool' && !names.has(toolChoice.toolName ?? '')
  return {
    ...rest,
    prompt: feedback === null ? prompt : [...prompt, { role: 'system', content: feedback }],
    ...(left.length > 0 && { tools: left }),
    ...(left.length > 0 && toolChoice !== undefined && { toolChoice: isForced ? { type: 'none' } : toolChoice }),
  }
}

async function judgeGenerated(turn: SessionTurn, result: Generated, agent: AgentCalls): Promise<Generated> {
  const { content, finishReason, usage } = result
  const dropped = await judgeParts(turn, content, finishReason, usage, agent)
  if (dropped.size === 0) return result
  const kept = content.map((part) => {
    const remedy = isClientCall(part) ? dropped.get(part.toolCallId ?? '') : undefined
    return remedy === undefined ? part : { type: 'text', text: remedy }
  })
  return { ...result, content: kept, finishReason: kept.some(isClientCall) ? finishReason : stopped(finishReason) }
}

function ending(version: string) {
  if (version === 'v2') return { finishReason: 'stop', usage: { inputTokens: 0, outputTokens: 0 } }
  const inputTokens = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 }
  const outputTokens = { total: 0, text: 0, reasoning: 0 }
  return { finishReason: { unified: 'stop', raw: undefined }, usage: { inputTokens, outputTokens } }
}

/** The model was not asked. */
const saidInstead = (text: string, version: string): Generated => {
  const said = { content: [{ type: 'text', text }], ...ending(version), warnings: [] }
  return said
}

function streamInstead(delta: string, version: string): ReadableStream<AnswerPart> {
  const id = 'countersign'
  const parts: AnswerPart[] = [
    { type: 'text-start', id },
    { type: 'text-delta', id, delta },
    { type: 'text-end', id },
    { type: 'finish', ...ending(version) },
  ]
  return new ReadableStream({
    start(controller) {
      controller.enqueue({ type: 'stream-start', warnings: [] } as AnswerPart)
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
}
