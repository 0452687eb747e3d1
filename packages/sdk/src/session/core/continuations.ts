import type { Decision } from '@countersign/protocol'
import { boundedMap } from '../../base/bounded-map.js'
import { ReplayConfigError } from '../../base/errors.js'
import { type JsonObject, text } from '../../base/json-object.js'
import type { Provider } from '../../providers/provider.js'
import type { StoredConversations, Thread } from '../../providers/stored-conversations.js'
import { explainToModel } from './gate.js'

/**
 * A provider that stores conversations also stores what was blocked: it would answer the next request with an error,
 * because a call of the one before has no answer, and the model would not know why. What the program does not see is
 * answered in its stead, with the next request that goes on from there.
 */
export interface Continuations {
  /** Completes a request on its way out. Throws when it goes on from what only the program could answer. */
  completion(provider: Provider, request: JsonObject): (sent: JsonObject) => JsonObject
  /** The model has answered: calls that the program does not get must be answered for it. */
  answered(provider: Provider, request: JsonObject, answer: SeenAnswer): void
  /** The model was not asked, and the program got this text under this id instead. */
  saidInstead(provider: Provider, request: JsonObject, said: { text: string; id: string }): void
}

export interface SeenAnswer {
  readonly response: JsonObject
  /** False when the stream broke off: the provider then stores nothing of it. */
  readonly complete: boolean
  /** The calls that the program gets; null when it gets all. */
  readonly shownIds: ReadonlySet<string> | null
  readonly blocked: readonly Decision[]
}

/** Where a request really goes on from, and what it must bring before its own items. */
interface MissingAnswers {
  readonly thread: Thread | null
  readonly items: readonly unknown[]
  /** Names of blocked calls that only the program can answer. */
  readonly unanswerable: readonly string[]
}

/** Forgetting one leads to an error from the provider, not to a call. */
const REMEMBERED = 500

export function createContinuations(): Continuations {
  const missing = boundedMap<string, MissingAnswers | null>(REMEMBERED)
  const missingOn = (thread: Thread | null): MissingAnswers | null =>
    thread === null ? null : (missing.get(keyOf(thread)) ?? null)

  return {
    completion({ stored }, request) {
      const thread = stored?.threadOf(request) ?? null
      const due = missingOn(thread)
      if (stored === undefined || due === null) return (sent) => sent
      if (due.unanswerable.length > 0) throw cannotGoOn(thread, due.unanswerable)
      return (sent) => stored.onThread(sent, due.thread, due.items)
    },
    answered({ stored }, request, { response, complete, shownIds, blocked }) {
      if (stored === undefined || !complete) return
      const thread = stored.threadOf(request)
      const due = shownIds === null ? null : answersTo(stored, response, shownIds, blocked)
      // A conversation now has the answers it was missing; another request may go on from the same response again.
      if (thread?.kind === 'conversation') missing.set(keyOf(thread), due && { ...due, thread })
      if (due === null) return
      const answered: Thread = { kind: 'response', id: text(response.id) }
      missing.set(keyOf(answered), { ...due, thread: answered })
    },
    saidInstead({ stored }, request, said) {
      if (stored === undefined) return
      const asked = stored.threadOf(request)
      const before = missingOn(asked)
      const thread = before === null ? asked : before.thread
      const items = [...(before?.items ?? []), ...stored.itemsOf(request), stored.saidItem(said.text)]
      const due: MissingAnswers = { thread, items, unanswerable: before?.unanswerable ?? [] }
      missing.set(keyOf({ kind: 'response', id: stored.saidInsteadId(said.id) }), due)
      if (thread?.kind === 'conversation') missing.set(keyOf(thread), due)
    },
  }
}

const keyOf = ({ kind, id }: Thread): string => `${kind}:${id}`

/** Null when the program gets every call. */
function answersTo(
  stored: StoredConversations,
  response: JsonObject,
  shownIds: ReadonlySet<string>,
  blocked: readonly Decision[],
): Omit<MissingAnswers, 'thread'> | null {
  const reasons = new Map(blocked.map((decision) => [decision.call_id, explainToModel([decision])]))
  const calls = stored.callsExcept(response, shownIds)
  if (calls.length === 0) return null
  const answers = calls.map((call) => ({
    call,
    item: stored.answerTo(call, reasons.get(text(call.call_id)) ?? NOT_RUN),
  }))
  return {
    items: answers.flatMap(({ item }) => (item === null ? [] : [item])),
    unanswerable: answers.flatMap(({ call, item }) => (item === null ? [text(call.name) || text(call.type)] : [])),
  }
}

export const NOT_RUN = 'It was not run, since another call of the same answer was blocked.'

function cannotGoOn(thread: Thread | null, names: readonly string[]): ReplayConfigError {
  return new ReplayConfigError(
    `${thread?.kind ?? 'response'} ${thread?.id ?? ''} has blocked calls (${names.join(', ')}) that only the program ` +
      'could answer: continue from an earlier response, or send the items of the conversation as input',
    null,
  )
}
