import { hash } from 'node:crypto'
import {
  flowOf,
  newTrail,
  type ReadResponse,
  sawCall,
  sawResult,
  sawUser,
  type Trail,
  takeColumns,
} from '@countersign/engine'
import { type Flows, LIMITS } from '@countersign/protocol'
import { boundedMap } from '../base/bounded-map.js'
import { createIds } from '../base/create-ids.js'
import type { JsonObject } from '../base/json-object.js'
import type { MessageCall, MessageView, Provider, RequestView } from '../providers/provider.js'
import { withoutTexts } from './without-texts.js'

/**
 * One client serves many conversations. A request belongs to the one whose messages it extends, or whose response it
 * names as previous. The memory is bounded: what is forgotten starts a new conversation.
 */
export interface Conversations {
  /** Finds the conversation of a request, or starts one, and takes in what the request brings that is new. */
  open(request: ConversationRequest): OpenRequest
  /** A text in messages of the user that is not what the user said: the SDK quotes the model, or the program a document. */
  quoted(text: string): void
}

export interface ConversationRequest extends Pick<RequestView, 'previousResponseId'> {
  readonly messages: readonly MessageView[]
}

export interface OpenRequest {
  readonly conversationId: string
  /** Takes in the answer, so that the request that extends it is known; gives where its arguments came from. */
  answered(response: ReadResponse, responseId: string | null): Flows
  /** Calls of the answer do not run. A retry shows them to the model, with the refusal in place of a result. */
  refused(callIds: Iterable<string>): void
}

interface Conversation {
  id: string
  trail: Trail
  calls: Map<string, MessageCall>
  /** Ids of remembered calls that do not run. */
  refused: Set<string>
}

const MEMORY = {
  prefixes: 2_000,
  responses: 1_000,
  conversations: 64,
  callsPerConversation: 1_000,
  quotes: 1_000,
} as const

/** What was decided about a call by its id; null if unknown here. */
export type VerdictOf = (callId: string) => 'allow' | 'block' | 'ask' | null

/**
 * With the API key as their hash key, first requests can be compared without being sent. Where blocked calls stay in the
 * messages, `verdictOf` tells them apart from those that ran.
 */
export function createConversations(key: string | null = null, verdictOf: VerdictOf = () => 'allow'): Conversations {
  /** What all messages up to some point hash to. Only `answered` ones may be continued by an equal request. */
  const prefixes = boundedMap<string, { id: string; answered: boolean }>(MEMORY.prefixes)
  const responses = boundedMap<string, string>(MEMORY.responses)
  const conversations = boundedMap<string, Conversation>(MEMORY.conversations)
  let quotes: readonly string[] = []
  const newId = createIds()

  /** Null when the request continues nothing that is known. */
  const find = (request: ConversationRequest, hashes: readonly string[]): { id: string; known: number } | null => {
    const previous = request.previousResponseId === null ? undefined : responses.get(request.previousResponseId)
    if (previous !== undefined) return { id: previous, known: 0 }
    for (let known = hashes.length; known > 0; known -= 1) {
      const prefix = prefixes.get(hashes[known - 1] ?? '')
      if (prefix !== undefined && (known < hashes.length || prefix.answered)) return { id: prefix.id, known }
    }
    return null
  }

  const withoutQuotes = (message: MessageView): MessageView => {
    if (message.role !== 'user' || quotes.length === 0) return message
    return { ...message, text: withoutTexts(message.text, quotes) }
  }

  return {
    quoted: (text) => {
      if (text.trim() === '') return
      quotes = [...quotes.filter((one) => one !== text), text].slice(-MEMORY.quotes)
    },
    open: (request) => {
      // The system text often changes from call to call in one conversation.
      const messages = request.messages.filter(({ role }) => role !== 'system')
      const hashes = prefixHashes(messages)
      const found = find(request, hashes)
      const remembered = found === null ? undefined : conversations.get(found.id)
      const id = found?.id ?? newId()
      const conversation = remembered ?? { id, trail: newTrail(key), calls: new Map(), refused: new Set<string>() }
      conversations.set(id, conversation)
      const known = remembered === undefined ? 0 : (found?.known ?? 0)
      for (let at = known; at < messages.length; at += 1) {
        takeIn(conversation, withoutQuotes(messages[at] as MessageView), verdictOf)
      }
      const last = hashes.at(-1) ?? ''
      if (last !== '') prefixes.set(last, { id, answered: false })
      return {
        conversationId: id,
        answered: (response, responseId) => {
          const said = answerView(response)
          prefixes.set(nextHash(last, said), { id, answered: true })
          if (responseId !== null) responses.set(responseId, id)
          for (const call of said.calls) {
            rememberCall(conversation, call)
            conversation.refused.delete(call.id)
          }
          return flowsOf(conversation.trail, response)
        },
        refused: (callIds) => {
          for (const callId of callIds) if (conversation.calls.has(callId)) conversation.refused.add(callId)
        },
      }
    },
  }
}

/** The id by which a later request can name the response as previous; null where the provider stores none. */
export function responseIdOf({ stored }: Provider, { id }: JsonObject): string | null {
  return stored !== undefined && typeof id === 'string' ? id : null
}

function prefixHashes(messages: readonly MessageView[]): string[] {
  let last = ''
  return messages.map((message) => {
    last = nextHash(last, message)
    return last
  })
}

/** Who spoke, what was said and called: what survives when a program sends an answer back. */
function nextHash(before: string, { role, text, callId, calls }: MessageView): string {
  const ids = calls.map(({ id }) => id).join('\n')
  // The length separates the parts, whatever they contain.
  return hash('sha256', `${before} ${role} ${callId ?? ''} ${ids.length} ${ids} ${text}`, 'base64url')
}

function answerView(response: ReadResponse): MessageView {
  const calls = response.calls.map(({ id, name, arguments: made }) => ({ id, name, arguments: made }))
  return { role: 'assistant', text: response.content ?? '', callId: null, calls }
}

function takeIn(conversation: Conversation, message: MessageView, verdictOf: VerdictOf): void {
  if (message.role === 'user') sawUser(conversation.trail, message.text)
  for (const call of message.calls) rememberCall(conversation, call)
  if (message.role !== 'tool' || message.callId === null) return
  const call = conversation.calls.get(message.callId)
  if (call === undefined) return
  conversation.calls.delete(message.callId)
  const verdict = conversation.refused.delete(message.callId) ? 'block' : verdictOf(message.callId)
  // What a model asked for and was refused is no source: it would only have to ask twice.
  const given = parsed(call.arguments)
  if (verdict === 'allow') sawCall(conversation.trail, call.name, given)
  const failed = message.isError === true || verdict === 'block' || verdict === 'ask'
  sawResult(conversation.trail, call.name, message.text, { arguments: given, failed })
}

function rememberCall({ calls }: Conversation, call: MessageCall): void {
  if (call.id === '' || call.name === '' || calls.size >= MEMORY.callsPerConversation) return
  calls.set(call.id, call)
}

function parsed(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

function flowsOf(trail: Trail, response: ReadResponse): Flows {
  const calls = response.calls
    .filter((call) => call.problem === null)
    .slice(0, LIMITS.callsPerProposal)
    .map((call) => flowOf(trail, { id: call.id, tool: call.name, arguments: call.arguments }))
  const columns = takeColumns(trail)
  return {
    calls,
    ...(columns.length > 0 ? { columns } : {}),
    ...(trail.request === null ? {} : { request: trail.request }),
    ...(trail.requestWords === null ? {} : { request_words: trail.requestWords }),
  }
}
