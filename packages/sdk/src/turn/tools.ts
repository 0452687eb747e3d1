import type { AsyncLocalStorage } from 'node:async_hooks'
import { checkExecution, parseStrictJson } from '@countersign/engine'
import type { BlockReason, CaptureLevel, Decision, JsonObject } from '@countersign/protocol'
import type { Authority } from '../authority/authority.js'
import { blockedDecision } from '../authority/blocked-decision.js'
import type { OpenCall, OpenCalls } from '../authority/open-calls.js'
import { messageOf } from '../base/diagnostics.js'
import { ReplayContractError, ReplayUnavailableError } from '../base/errors.js'
import type { KnownOrPromised } from '../base/steps.js'
import { jsonOf } from '../base/written-json.js'
import type { ToolExecutor, ToolMap } from '../options/replay-options.js'
import { enforcementOf } from './gate.js'
import { type Execution, executedReceipt, reportedReceipt } from './receipts.js'

/** A tool that runs only for an allowed call. Pass the arguments of the call, and its id to tell equal calls apart. */
export type WrappedTool<Result = unknown> = (args?: unknown, options?: { callId?: string }) => Promise<Result>

/** The program's wrapped tools by name. A name that comes from the model may be none of them. */
export type WrappedTools<Tools extends ToolMap> = {
  readonly [Name in keyof Tools]: WrappedTool<Awaited<ReturnType<Tools[Name]>>>
} & { readonly [name: string]: WrappedTool | undefined }

export interface ToolRuntime {
  readonly openCalls: OpenCalls
  readonly captureLevel: CaptureLevel
  readonly authority: () => Authority
  /** False where the session only watches: then tools run whatever was judged. */
  readonly enforcing: () => boolean
  readonly killed: () => boolean
  readonly killSignal: AbortSignal
  /** Set while a tool runs, so that a turn started inside of it can be recognised. */
  readonly running: AsyncLocalStorage<RunningTool>
  /** Gives gathered evidence to the authority. */
  deliver(): KnownOrPromised<void>
  deliverSoon(): void
}

export interface RunningTool {
  readonly openCalls: OpenCalls
  active: boolean
}

/** A decision older than this is confirmed before the tool runs, so that a kill reaches queued calls. */
const TRUSTED_DECISION_MS = 5_000

/** The program's tools, each running only for a call that was allowed, and leaving a receipt. */
export function wrapTools(
  tools: ReadonlyMap<string, ToolExecutor>,
  runtime: ToolRuntime,
): Readonly<Record<string, WrappedTool>> {
  const wrapped: Record<string, WrappedTool> = Object.create(null)
  for (const [name, executor] of tools) {
    wrapped[name] = async (args, options = {}) => runWrapped({ name, executor, args, callId: options.callId }, runtime)
  }
  return Object.freeze(wrapped)
}

interface Invocation {
  readonly name: string
  readonly executor: ToolExecutor
  readonly args: unknown
  readonly callId: string | undefined
}

async function runWrapped(invocation: Invocation, runtime: ToolRuntime): Promise<unknown> {
  const taken = takeCall(invocation, runtime)
  if (taken === null) {
    if (!runtime.enforcing()) return runUnjudged(invocation, runtime)
    throw noAllowedCall(invocation)
  }
  const { args, call } = taken
  try {
    await guard(call, args, runtime)
  } catch (error) {
    // Whatever went wrong, nothing ran: a call left running would keep every later turn waiting.
    if (call.state === 'running') runtime.openCalls.resolve(call, reportedReceipt(call, 'not_executed'))
    throw error
  }
  const execution = await run(invocation, call, args, runtime)
  const receipt = executedReceipt(call, execution.evidence, {
    salt: runtime.authority().saltOf(call.by),
    captureLevel: runtime.captureLevel,
  })
  runtime.openCalls.resolve(call, receipt)
  // The next turn would wait for this anyway, and now the program sees the state that its tool led to.
  if (runtime.openCalls.complete()) await runtime.deliver()
  else runtime.deliverSoon()
  if ('thrown' in execution) throw execution.thrown
  return execution.evidence.result
}

function takeCall(
  { name, callId, args: given }: Invocation,
  { openCalls }: ToolRuntime,
): { readonly args: JsonObject; readonly call: OpenCall } | null {
  for (const args of readingsOf(given)) {
    const call = openCalls.take({ toolName: name, arguments: args, callId })
    if (call !== null) return { args, call }
  }
  return null
}

/** Everything that may have changed since the decision. A call that must not run is resolved as not executed. */
async function guard(call: OpenCall, args: JsonObject, runtime: ToolRuntime): Promise<void> {
  const refuse = async (reason: BlockReason, remedy: string, block?: Partial<Decision>): Promise<never> => {
    runtime.openCalls.resolve(call, reportedReceipt(call, 'not_executed'))
    await runtime.deliver()
    const decision = { ...blockedDecision(call.decision, reason, remedy), ...block }
    throw new ReplayContractError(`${call.toolName} did not run: ${remedy}`, enforcementOf([decision], 'reject_all'))
  }
  if (!runtime.enforcing()) return
  if (call.ageMs() > TRUSTED_DECISION_MS) {
    try {
      await runtime.authority().confirm(call)
    } catch (error) {
      if (error instanceof ReplayUnavailableError) {
        runtime.openCalls.putBack(call)
        throw error
      }
      await refuse(runtime.killed() ? 'killed' : 'precondition_not_met', messageOf(error))
    }
  }
  if (runtime.killed()) await refuse('killed', 'the session was killed; start a new one to continue')
  const violated = checkExecution(runtime.authority().plan, call.toolName, args)
  if (violated !== null) {
    const { reason, remedy, failures, contract_file } = violated
    await refuse(reason, remedy, { failures, contract_file: contract_file ?? null, reasons: [violated] })
  }
}

type Ran = { readonly evidence: Execution; readonly thrown?: unknown }

async function run(invocation: Invocation, call: OpenCall, args: JsonObject, runtime: ToolRuntime): Promise<Ran> {
  const startedAt = new Date()
  const timeoutMs = runtime.authority().plan.contracts.get(call.toolName)?.definition.timeouts?.total_ms
  const ended = (outcome: Execution['outcome'], more: Partial<Execution> = {}): Execution => ({
    outcome,
    startedAt,
    finishedAt: new Date(),
    ...more,
  })
  const limit = timeLimit(timeoutMs, runtime.killSignal)
  const running: RunningTool = { openCalls: runtime.openCalls, active: true }
  try {
    // The tool gets the value that was hashed, not an object that the program could still change.
    const given = isCustomInput(invocation.args, args) ? invocation.args : structuredClone(args)
    const context = {
      callId: call.callId,
      idempotencyKey: call.decision.idempotency_key ?? call.pendingCallId,
      signal: limit.signal,
    }
    const work = runtime.running.run(running, async () => invocation.executor(given, context))
    const result = await Promise.race([work, limit.expired])
    return { evidence: ended('succeeded', { result }) }
  } catch (thrown) {
    const outcome = isInterruption(thrown) ? 'unknown' : 'failed'
    return { evidence: ended(outcome, { errorCode: codeOf(thrown) }), thrown }
  } finally {
    running.active = false
    limit.clear()
  }
}

function runUnjudged({ name, executor, args, callId }: Invocation, runtime: ToolRuntime): unknown {
  const id = callId ?? `${name}:unjudged`
  return executor(args, { callId: id, idempotencyKey: id, signal: runtime.killSignal })
}

/** Aborts and rejects when the tool's time is up; a kill aborts only, since the tool may still end by itself. */
function timeLimit(timeoutMs: number | undefined, killSignal: AbortSignal) {
  const controller = new AbortController()
  const onKill = (): void => controller.abort(killSignal.reason)
  if (killSignal.aborted) onKill()
  else killSignal.addEventListener('abort', onKill, { once: true })
  let timer: NodeJS.Timeout | undefined
  const expired = new Promise<never>((_, reject) => {
    if (timeoutMs === undefined) return
    timer = setTimeout(() => {
      const error = new DOMException(
        `the tool did not finish within ${timeoutMs} ms; its outcome is unknown`,
        'TimeoutError',
      )
      controller.abort(error)
      reject(error)
    }, timeoutMs)
  })
  // Nobody may be left to handle the rejection.
  expired.catch(() => {})
  return {
    signal: controller.signal,
    expired,
    clear() {
      clearTimeout(timer)
      killSignal.removeEventListener('abort', onKill)
    },
  }
}

const INTERRUPTIONS = new Set([
  'AbortError',
  'TimeoutError',
  'ETIMEDOUT',
  'ECONNRESET',
  'EPIPE',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_SOCKET',
])

/** A tool whose answer was lost may have done its work: that is unknown, not failed. */
function isInterruption(thrown: unknown): boolean {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 5; error = error.cause, depth++) {
    if (INTERRUPTIONS.has(error.name) || INTERRUPTIONS.has(String(Reflect.get(error, 'code')))) return true
  }
  return false
}

function codeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'THROWN'
  const code: unknown = Reflect.get(thrown, 'code')
  return typeof code === 'string' && code !== '' ? code : thrown.name
}

/** What may have been judged: the parsed object, or a text, JSON or not, that is the input of a custom tool. */
function readingsOf(given: unknown): JsonObject[] {
  const value = typeof given === 'string' ? objectIn(given) : jsonOf(given === undefined ? {} : given)
  const parsed = isJsonObject(value) ? [value] : []
  return typeof given === 'string' ? [...parsed, { input: given }] : parsed
}

function objectIn(text: string): unknown {
  const parsed = parseStrictJson(text)
  return parsed.ok ? parsed.value : null
}

/** A custom tool takes the text itself; JSON text of a function's arguments is passed on parsed. */
const isCustomInput = (given: unknown, args: JsonObject): boolean => typeof given === 'string' && args.input === given

const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function noAllowedCall({ name, callId }: Invocation): ReplayContractError {
  const which =
    callId === undefined ? 'with these arguments' : `under the id ${JSON.stringify(callId)} with these arguments`
  const remedy = `no allowed call of ${name} ${which} is waiting; run a tool only for a call that create returned, unchanged and once`
  const decision = blockedDecision({ tool_name: name, call_id: callId ?? '' }, 'execution_constraint_violated', remedy)
  return new ReplayContractError(`${name} did not run: ${remedy}`, enforcementOf([decision], 'reject_all'))
}
