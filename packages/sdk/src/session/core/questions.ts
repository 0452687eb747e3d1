import { editedText, expiredText, refusedText, withdrawnText } from '@countersign/engine'
import { type Decision, isLive, LIMITS, type SessionQuestion, type SessionQuestions } from '@countersign/protocol'
import type { OpenCall } from '../../authority/open-calls.js'
import { errorOf } from '../../authority/refusals.js'
import type { SessionApi } from '../../authority/remote/session-api.js'
import { ServiceFailure, ServiceRefusal } from '../../authority/transport.js'
import type { Report } from '../../base/diagnostics.js'
import { type ParkedQuestion, ReplayConfigError, ReplayUnavailableError } from '../../base/errors.js'
import { startAge } from '../../base/start-age.js'

/** The questions to people about calls of a session, as far as this process has heard of them. */
export interface Questions {
  /** Asks the server for all of them. Throws where it cannot. */
  load(): Promise<readonly SessionQuestion[]>
  /** As they were when they were last loaded. */
  known(): readonly SessionQuestion[]
  /** Resolves to all when one has changed since they were last loaded, or none waits, or the time is up. */
  whenChanged(seconds: number): Promise<readonly SessionQuestion[]>
  /** Resolves to all when none of these waits any more, or the time is up, which may be at once. */
  whenDecided(ids: ReadonlySet<string>, seconds: number): Promise<readonly SessionQuestion[]>
  withdraw(questionId: string): Promise<SessionQuestion>
  /** Those of the blocked calls that wait for people. */
  parked(blocked: readonly Decision[]): readonly ParkedQuestion[]
  /** The model reads what became of these. */
  told(decisions: readonly Decision[]): void
  /** A call ran with arguments that a person had changed: what the model reads of it. */
  ranEdited(call: OpenCall): string
  /** What a model is to read in its next request; asks the server while a question is open. Never throws. */
  news(): Promise<readonly string[]>
}

interface QuestionsOptions {
  readonly sessionId: string
  /** Null where no server decides. */
  readonly api: () => SessionApi | null
  readonly open: () => Promise<void>
  /** The questions that are open, as far as the session's state is known here. */
  readonly live: () => readonly string[]
  readonly report: Report
  /** Ends every wait. */
  readonly killed: AbortSignal
}

const UNDELIVERED_MS = 5 * 60_000
/** After a reply that came at once and said nothing new, and after none. */
const PAUSE_MS = 1_000

export function createQuestions(options: QuestionsOptions): Questions {
  const { sessionId, api, open, live, report, killed } = options
  let latest: ReadonlyMap<string, SessionQuestion> = new Map()
  let version: string | null = null
  const undelivered = new Set<string>()
  /** Those of which the model has read how they ended. */
  const told = new Set<string>()
  const unread: string[] = []

  /** Ends a wait whose request the server still holds back. */
  const whenKilled = new Promise<number>((resolve) => {
    killed.addEventListener('abort', () => resolve(0), { once: true })
  })

  const all = (): readonly SessionQuestion[] => [...latest.values()]

  async function server(): Promise<SessionApi> {
    await open()
    const found = api()
    if (found === null) throw new ReplayConfigError(NOT_GOVERNED, null)
    return found
  }

  function take({ questions, version: newest }: SessionQuestions): void {
    for (const question of questions) tell(latest.get(question.question_id), question)
    latest = new Map(questions.map((question) => [question.question_id, question]))
    version = newest
  }

  function tell(before: SessionQuestion | undefined, now: SessionQuestion): void {
    const { question_id, tool_name, state, have, needed, url, expires_at, cause } = now
    const about = { session_id: sessionId, question_id, tool_name }
    const isLate = state === 'waiting' && !now.delivered && Date.now() - Date.parse(now.asked_at) > UNDELIVERED_MS
    if (isLate && !undelivered.has(question_id)) {
      undelivered.add(question_id)
      report({ type: 'question_undelivered', ...about, url })
    }
    // What was over before this process heard of it is no news.
    if (before === undefined) {
      if (isLive(state)) report({ type: 'question_asked', ...about, url, expires_at })
      if (state !== 'approved') return
    } else if (before.state === state && before.have === have) {
      if (state === 'waiting' && before.expires_at !== expires_at)
        report({ type: 'question_changed', ...about, expires_at })
      return
    }
    if (state === 'expired' || state === 'withdrawn') report({ type: 'question_ended', ...about, state, cause })
    else if (state === 'waiting' && have <= (before?.have ?? 0))
      report({ type: 'question_changed', ...about, expires_at })
    else if (state !== 'used') report({ type: 'question_answered', ...about, state, have, needed })
  }

  /** One request. A server that does not answer is asked again while a caller waits. */
  async function once(seconds: number): Promise<number> {
    const found = await server()
    const age = startAge()
    const before = version
    try {
      const isFirst = before === null || seconds < 1
      const reply = await found.questions(isFirst ? undefined : { seconds, after: before })
      take(reply)
      if (reply.retry_after !== null) return reply.retry_after * 1_000
      return before === version && age() < PAUSE_MS ? PAUSE_MS : 0
    } catch (error) {
      if (error instanceof ServiceFailure && seconds >= 1) return PAUSE_MS
      throw translated(error)
    }
  }

  async function waitUntil(isReached: () => boolean, seconds: number): Promise<readonly SessionQuestion[]> {
    const age = startAge()
    const leftMs = (): number => (killed.aborted ? 0 : seconds * 1_000 - age())
    while (!isReached() && leftMs() > 0) {
      const wait = Math.min(LIMITS.questionWaitSeconds, Math.floor(leftMs() / 1_000))
      const asked = once(wait)
      asked.catch(() => {})
      const pauseMs = await Promise.race([asked, whenKilled])
      if (pauseMs > 0 && !isReached()) await pause(Math.min(pauseMs, leftMs()), killed)
    }
    return all()
  }

  const load = async (): Promise<readonly SessionQuestion[]> => {
    await once(0)
    return all()
  }

  const waiting = (ids?: ReadonlySet<string>): boolean =>
    all().some(({ question_id, state }) => state === 'waiting' && (ids?.has(question_id) ?? true))

  const isOpenHere = (): boolean => all().some(({ state, question_id }) => isLive(state) && !told.has(question_id))
  /** Asked by another process, which may be gone. */
  const isOpenThere = (): boolean => live().some((id) => !told.has(id))

  return {
    load,
    known: all,
    parked: (blocked) =>
      blocked.flatMap(({ question, tool_name: tool }): ParkedQuestion[] => {
        if (question === undefined || !isLive(question.state)) return []
        const url = latest.get(question.question_id)?.url ?? null
        return [{ questionId: question.question_id, url, tool, expiresAt: question.expires_at }]
      }),
    told(decisions) {
      for (const { question, approval } of decisions) {
        if (question !== undefined && !isLive(question.state)) told.add(question.question_id)
        if (approval !== undefined) told.add(approval.question_id)
      }
    },
    ranEdited({ arguments: args, proposed = {}, decision }) {
      const note = latest.get(decision.approval?.question_id ?? '')?.note ?? null
      const text = editedText(changesIn(proposed, args), note)
      unread.push(`${decision.tool_name}: ${text}`)
      return text
    },
    async news() {
      if (isOpenHere() || isOpenThere()) await load().catch(() => {})
      const said = unread.splice(0)
      for (const question of all()) {
        const text = told.has(question.question_id) ? null : newsOf(question)
        if (text === null) continue
        told.add(question.question_id)
        said.push(text)
      }
      return said
    },
    async whenChanged(seconds) {
      if (version === null) await load()
      if (!waiting()) return load()
      const before = version
      return waitUntil(() => version !== before, seconds)
    },
    async whenDecided(ids, seconds) {
      await load()
      return waitUntil(() => !waiting(ids), seconds)
    },
    async withdraw(questionId) {
      const found = await server()
      try {
        const withdrawn = await found.withdraw(questionId)
        tell(latest.get(questionId), withdrawn)
        latest = new Map(latest).set(questionId, withdrawn)
        return withdrawn
      } catch (error) {
        throw translated(error)
      }
    },
  }
}

/** Null while it waits, and where the call has run. */
function newsOf({ question_id: id, tool_name: tool, state, note }: SessionQuestion): string | null {
  switch (state) {
    case 'waiting':
    case 'used':
      return null
    case 'approved':
      return `A person approved ${tool}, question ${id}. To run it, call it again with the same arguments.`
    case 'denied':
      return refusedText(tool, note)
    case 'expired':
      return expiredText(tool, id)
    case 'withdrawn':
      return withdrawnText(tool, id)
  }
}

/** Such as `amount from 900 to 400`. */
function changesIn(before: Readonly<Record<string, unknown>>, after: Readonly<Record<string, unknown>>): string[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return keys
    .map((key) => [key, written(before[key]), written(after[key])] as const)
    .filter(([, from, to]) => from !== to)
    .map(([key, from, to]) => `${key} from ${from} to ${to}`)
}

const written = (value: unknown): string => JSON.stringify(value) ?? 'nothing'

const NOT_GOVERNED =
  'only the server asks people: set COUNTERSIGN_API_KEY and pass the option tools, so that it governs the session'

function translated(error: unknown): unknown {
  if (error instanceof ServiceRefusal) return errorOf(error)
  if (!(error instanceof ServiceFailure)) return error
  return new ReplayUnavailableError(`the server could not say what people have answered: ${error.message}`, {
    cause: error,
  })
}

function pause(ms: number, killed: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      clearTimeout(timer)
      killed.removeEventListener('abort', wake)
      resolve()
    }
    const timer = setTimeout(wake, ms)
    killed.addEventListener('abort', wake, { once: true })
  })
}
