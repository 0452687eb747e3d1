import type { HandoffView, StateSnapshot, WorkflowView } from '@countersign/protocol'
import type { Narrowed } from '../authority/authority.js'
import { reportedReceipt } from '../authority/receipts.js'
import { deepFreeze } from '../base/deep-freeze.js'
import { type ParkedQuestion, ReplayConfigError } from '../base/errors.js'
import type { HealthSnapshot } from '../base/health-snapshot.js'
import { answerQuestion } from '../calls/answer-question.js'
import { type ToolRun, type WrappedTool, wrapTools } from '../calls/invoke.js'
import { type Settlement, settleCall } from '../calls/settle.js'
import { checkExecutors, checkLabel, checkText, checkToolFilter } from '../options/check-arguments.js'
import type { NarrowResult, ToolInvocation, ToolMap } from '../options/replay-options.js'
import { governorOf } from '../turn/run-turn.js'
import { type BatchOptions, type CallBatches, createCallBatches, type ShownCall } from './call-batches.js'
import type { PersonsAnswer } from './core/checkpoints.js'
import { sessionHealth } from './core/health.js'
import { decider, type SessionContext } from './core/session-context.js'
import type { ShadowDelta } from './core/shadow-delta.js'
import { sessionSnapshot } from './core/snapshot.js'
import type { TraceEntry } from './core/trace.js'
import type { CallVerdict } from './core/verdicts.js'
import { type AskedCall, invokeAsked, parkAsking, proposeAgain } from './propose-again.js'
import {
  findQuestion,
  loadQuestions,
  parkedQuestions,
  type Question,
  type QuestionsWait,
  questionById,
  questionOf,
  type ResumedCall,
  resumeQuestion,
  withdrawQuestion,
} from './questions.js'
import { createSessionFetch } from './session-fetch.js'
import { createTurnMaker, type SessionTurn, type TurnInput, type TurnMaker } from './session-turn.js'
import {
  completeHandoff,
  delegateWork,
  type HandoffOffer,
  type HandoffWait,
  type JoinedSession,
  loadWorkflow,
  offerHandoff,
  reclaimHandoff,
  waitForHandoff,
} from './workflow.js'

/** How long `close()` waits for wrapped tools that still run. */
const CLOSE_PATIENCE_MS = 30_000

/** The tools of a session of which it is not known whether they were given. */
export type SomeTools = Readonly<Record<string, WrappedTool | undefined>> | undefined

/** A governed session: prepare each model call, propose its answer, and run the calls that it allows. */
export class Session<Tools = SomeTools> {
  /** The id of the session. */
  readonly sessionId: string
  /** The wrapped tools; undefined if the option `tools` was not given. */
  readonly tools: Tools
  /**
   * A `fetch` for everything that speaks the wire of OpenAI or Anthropic: each call of a model through it is a turn of
   * this session. What cannot be governed is refused with a 4xx.
   */
  readonly fetch: typeof globalThis.fetch
  readonly #context: SessionContext
  readonly #turns: TurnMaker

  constructor(context: SessionContext) {
    const { settings } = context
    this.#context = context
    this.#turns = createTurnMaker(context)
    this.sessionId = settings.sessionId
    this.fetch = this.fetchThrough((input, init) => globalThis.fetch(input, init))
    const isGiven = settings.tools !== null && !settings.addsTools
    this.tools = (isGiven ? wrapTools(settings.tools, context) : undefined) as Tools
  }

  /**
   * Begins a turn: says which tools the model may be offered. Turns with tools wait for each other. Throws if no authority can
   * decide, or if the session was killed or closed.
   */
  prepare(input: TurnInput): Promise<SessionTurn> {
    return this.#turns.prepare(input)
  }

  /**
   * Which of these tools a request would be narrowed to at present, by the state that this process knows. Begins no
   * turn. Throws if no authority can decide.
   */
  async narrowed(tools: readonly string[]): Promise<Narrowed> {
    const context = this.#context
    await context.ready()
    if (context.stance(decider(context)) !== 'enforce') return { allowed: [...tools], removed: [] }
    // The server says for whom the session acts.
    if (context.settings.principalToken !== null) await context.authority().open()
    return context
      .authority()
      .current()
      .narrow(tools.map((name) => ({ name, kind: 'function' })))
  }

  /** The same as `fetch`, sending what is allowed by another `fetch` than the global one. */
  fetchThrough(upstream: typeof globalThis.fetch): typeof globalThis.fetch {
    return createSessionFetch(governorOf(this.#context), upstream)
  }

  /**
   * Judges calls that a runtime shows one by one, such as the hooks of a coding agent: those that come together as one
   * turn. Tell it when each has its outcome.
   */
  batches<Call extends ShownCall>(options: BatchOptions<Call>): CallBatches<Call> {
    return createCallBatches(this.#context, this.#turns, options)
  }

  /** Whether the session's plan has a contract of this tool. */
  hasContract(toolName: string): boolean {
    return this.#context.authority().plan.contracts.has(toolName)
  }

  /** What was decided about a call; null if the session has not judged it lately. */
  verdictOf(callId: string): CallVerdict | null {
    return this.#context.verdicts.of(callId)
  }

  /**
   * Runs an allowed call with the judged arguments, at most once, and leaves its receipt. Resolves to the tool's result,
   * or to the text for the model if the call is blocked or waits for a person. What the tool throws is thrown on.
   */
  async run(callId: string, args?: unknown): Promise<unknown> {
    return (await this.invoke({ callId, args })).result
  }

  /** The same, for whoever brings the executor, the arguments or an approval, and wants to know whether the tool ran. */
  invoke(invocation: ToolInvocation): Promise<ToolRun> {
    return invokeAsked(this.#context, invocation)
  }

  /**
   * What people are asked about calls of this session, oldest first. With `wait`, resolves as soon as that has changed
   * since it was last loaded, or after so many seconds; at once where nothing waits.
   */
  questions(wait: QuestionsWait = {}): Promise<readonly Question[]> {
    return loadQuestions(this.#context, wait)
  }

  /** What people are asked about one call, by its id and tool; null where that is nothing. */
  async questionOf(callId: string, tool: string): Promise<Question | null> {
    const found = await findQuestion(this.#context, { callId, tool })
    return found === null ? null : questionOf(found)
  }

  /**
   * Runs the call of a question that people have approved, once, in this process: it is judged as of now.
   * Resolves to the result, or to why it does not run.
   */
  async resume(questionId: string, call: Pick<ToolInvocation, 'run' | 'signal'> = {}): Promise<ResumedCall> {
    return resumeQuestion(this.#context, await questionById(this.#context, questionId), call)
  }

  /**
   * Proposes a call once more about which the program had asked a person when the session was parked: the same call, with
   * equal arguments and within its time. Resolves to the verdict, usually `ask`; null where nothing of the kind is known.
   */
  proposeAgain(call: AskedCall): Promise<CallVerdict | null> {
    return proposeAgain(this.#context, call)
  }

  /** Withdraws a question: the call is not wanted any more. */
  withdraw(questionId: string): Promise<Question> {
    return withdrawQuestion(this.#context, questionId)
  }

  /**
   * Ends this process's part of the session, and gives the questions that wait for people or for their call to be
   * resumed. `openSession({ sessionId })` goes on with it, in this process or another. A question that the program asks
   * itself can be asked once more there, within its time: see `proposeAgain`.
   */
  async park(): Promise<readonly ParkedQuestion[]> {
    const parked = this.#context.rules().governed ? await parkedQuestions(this.#context) : []
    parkAsking(this.#context)
    await this.close()
    return parked
  }

  /** Reports the outcome of a call that the program ran itself. That is weaker evidence than `run` leaves. */
  settle(callId: string, settlement: Settlement): Promise<void> {
    return settleCall(this.#context, callId, settlement)
  }

  /** Answers the question of an `ask` verdict, by its id. Resolves to the verdict that follows from the answer. */
  answer(id: string, answer: PersonsAnswer): Promise<CallVerdict> {
    return answerQuestion(this.#context, id, answer)
  }

  /** Adds executors for `run`. A tool of theirs counts as wrapped: only `run` and `invoke` prove that it ran. */
  addTools(tools: ToolMap): void {
    checkExecutors(tools)
    const wrapped = this.#context.settings.tools
    if (wrapped === null) {
      throw new ReplayConfigError(
        'the session was started without the option tools, so that no tool can be added',
        null,
      )
    }
    for (const [name, executor] of Object.entries(tools)) wrapped.set(name, executor)
  }

  /** Sends the captures, receipts and controls that are still waiting, if the server can be reached. */
  async flush(): Promise<void> {
    const { deliver, captures, authority } = this.#context
    await deliver()
    await Promise.all([captures.flush(), authority().flush()])
  }

  /**
   * Ends the session: calls that have not run count as not executed, and what is waiting is sent. A wrapped tool that
   * still runs has 30 seconds to end; then its outcome is reported as unknown.
   */
  async close(): Promise<void> {
    const { calls, settings, hasEnded, end, notes } = this.#context
    if (hasEnded()) return
    end()
    if (settings.shared !== null) return this.#leave(false)
    await calls.whenIdle({ patienceMs: CLOSE_PATIENCE_MS, onLongWait: notes.toolWaits })
    // Whatever still runs may end or not: its outcome is no longer waited for.
    for (const call of calls.running()) calls.resolve(call, reportedReceipt(call, 'unknown'))
    for (const call of calls.asking()) calls.resolve(call, reportedReceipt(call, 'not_executed'))
    for (const call of calls.allowed()) {
      calls.resolve(call, reportedReceipt(call, settings.tools?.has(call.toolName) ? 'not_executed' : 'unknown'))
    }
    await this.#leave()
  }

  /** Ends a session that several processes hold, for all of them. Where only this one does, it is the same as `close`. */
  async end(): Promise<void> {
    const { settings, hasEnded, end } = this.#context
    if (settings.shared === null) return this.close()
    if (hasEnded()) return
    end()
    await this.#leave(true)
  }

  /** Other processes may go on with a shared session: its calls keep waiting for what the conversation says of them. */
  async #leave(isOver?: boolean): Promise<void> {
    const { calls, notes, deliver, captures, authority } = this.#context
    await calls.whenIdle({ patienceMs: CLOSE_PATIENCE_MS, onLongWait: notes.toolWaits })
    await deliver()
    await Promise.all([captures.close(), authority().close(isOver)])
  }

  /** The same as `close`. */
  async restore(): Promise<void> {
    await this.close()
  }

  /** Stops the session immediately and permanently. The server is told, repeatedly until it confirms. */
  kill(): void {
    this.#context.kill()
  }

  /** Adds a label, which can never be removed. It applies immediately, and on the server before the next turn. */
  addLabel(label: string): void {
    checkLabel(label)
    this.#context.authority().control({ label })
  }

  /**
   * Marks a text that your program puts into messages of the user and that the user did not write: a mail, a page, a
   * retrieved passage. What it says is then no source `user` for rules. Returns the text; put it in as it is.
   */
  quote(text: string): string {
    checkText(text)
    this.#context.conversations.quoted(text)
    return text
  }

  /** Allows only these tools, until `widen()` is called. */
  narrow(toolFilter: readonly string[]): void {
    checkToolFilter(toolFilter)
    this.#context.authority().control({ filter: [...toolFilter] })
  }

  /** Removes the restriction that `narrow` set. */
  widen(): void {
    this.#context.authority().control({ filter: null })
  }

  /** The state of the session, as a frozen copy. */
  getState(): StateSnapshot {
    return sessionSnapshot(this.#context)
  }

  /** The health of the session, as a frozen copy. */
  getHealth(): HealthSnapshot {
    return sessionHealth(this.#context)
  }

  /** Which tools the latest request was narrowed to; null before the first request. */
  getLastNarrowing(): NarrowResult | null {
    return this.#context.notes.lastNarrowing()
  }

  /** What enforcement would have changed in the latest turn; null unless the session is in shadow mode. */
  getLastShadowDelta(): ShadowDelta | null {
    return this.#context.notes.lastShadowDelta()
  }

  /** The checks of the latest turn, in order. They never contain values of arguments. */
  getLastTrace(): readonly TraceEntry[] {
    return this.#context.notes.lastTrace()
  }

  /** Loads the workflow of the session from the server. */
  async getWorkflowState(): Promise<WorkflowView> {
    return deepFreeze(await loadWorkflow(this.#context))
  }

  /** Offers work to another role of the workflow. */
  async handoff(offer: HandoffOffer): Promise<HandoffView> {
    return deepFreeze(await offerHandoff(this.#context, offer))
  }

  /**
   * Hands work to a sub-agent and waits for it, such as in a tool that runs one. `join` opens the sub-agent's session
   * with the id of the handoff; `work` runs the sub-agent under it. Then the handoff is completed and that session closed.
   */
  delegate<Joined extends JoinedSession, Result>(
    offer: HandoffOffer,
    join: (handoff: HandoffView) => Joined | PromiseLike<Joined>,
    work: (session: Joined) => PromiseLike<Result> | Result,
  ): Promise<Result> {
    return delegateWork(this.#context, offer, join, work)
  }

  /** Completes the handoff that this session accepted. Its labels go back with it; it may use no more tools. */
  async completeHandoff(): Promise<HandoffView> {
    return deepFreeze(await completeHandoff(this.#context))
  }

  /** Takes back a handoff that this session offered, after it expired or its holder was lost. */
  async reclaimHandoff(handoffId: string): Promise<HandoffView> {
    return deepFreeze(await reclaimHandoff(this.#context, handoffId))
  }

  /** Waits until a handoff is completed, reclaimed or expired; null if that does not happen in time. */
  async waitForHandoff(handoffId: string, wait: HandoffWait): Promise<HandoffView | null> {
    return deepFreeze(await waitForHandoff(this.#context, handoffId, wait))
  }
}
