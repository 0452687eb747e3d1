import { readResponse } from '@countersign/engine'
import { expect } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import type { MessageView } from '../providers/provider.js'
import { createConversations, type VerdictOf } from './conversations.js'

const FOUND = 'eve@evil.example'

const sending = (to: string) => {
  const call = { id: 'c2', type: 'function', function: { name: 'send', arguments: JSON.stringify({ to }) } }
  return readResponse({ choices: [{ message: { role: 'assistant', content: null, tool_calls: [call] } }] })
}
const SENDING = sending(FOUND)

/** Where the recipient of a mail was seen, after a lookup of that verdict with that result. */
function seenAfter(verdict: ReturnType<VerdictOf>, result: Partial<MessageView>, sent = FOUND): string[] {
  const message = { text: '', callId: null, calls: [] }
  const messages: MessageView[] = [
    { ...message, role: 'user', text: 'Write to Eve.' },
    { ...message, role: 'assistant', calls: [{ id: 'c1', name: 'find_person', arguments: { name: 'eve-1' } }] },
    { ...message, role: 'tool', callId: 'c1', text: JSON.stringify({ email: FOUND }), ...result },
  ]
  const open = createConversations(null, () => verdict).open({ messages, previousResponseId: null })
  return open.answered(sending(sent), null).calls[0]?.leaves[0]?.sources.map(({ seen }) => seen) ?? []
}

proves(
  'guarantee.sources.refused-twice',
  'what the SDK says in a message of the user is not what the user said',
  () => {
    const conversations = createConversations()
    const remedy = `No contract covers the tool "${FOUND}".`
    conversations.quoted(remedy)
    const seen = (text: string) => {
      const messages: MessageView[] = [{ role: 'user', text, callId: null, calls: [] }]
      const flows = conversations.open({ messages, previousResponseId: null }).answered(SENDING, null)
      return flows.calls[0]?.leaves[0]?.sources.map((source) => source.seen)
    }
    expect(seen(`Answer Ann.\n${remedy}`)).toEqual([])
    expect(seen(`Answer ${FOUND}.\n${remedy}`)).toEqual(['user'])
  },
)

proves('session.quote', 'what stands around a quoted text is the word of the user, and never one word', () => {
  const conversations = createConversations()
  const mail = `Pay, or write to ${FOUND}.`
  conversations.quoted('write')
  conversations.quoted(mail)
  const seen = (text: string) => {
    const messages: MessageView[] = [{ role: 'user', text, callId: null, calls: [] }]
    const { calls } = conversations.open({ messages, previousResponseId: null }).answered(SENDING, null)
    return calls[0]?.leaves[0]?.sources.map((source) => source.seen)
  }
  expect(seen(`Answer this mail: ${mail}`)).toEqual([])
  expect(seen(`Answer ${FOUND}: ${mail}`)).toEqual(['user'])
  expect(seen(FOUND.replace('@', `@${mail}`))).toEqual([])
  // A third document that looks like the end of one and the beginning of the next.
  const [one, two] = [`Write to ${FOUND}. Yours`, `Or to ${FOUND}.`]
  for (const quote of [one, `Yours\n${two}`, two]) {
    conversations.quoted(quote)
    if (quote !== one) expect(seen(`Two mails: ${one}\n${two}`)).toEqual([])
  }
  // Of so many quotes, the newest count; this one is quoted again.
  for (let at = 0; at < 994; at++) conversations.quoted(`text ${at}`)
  conversations.quoted(mail)
  for (let at = 0; at < 5; at++) conversations.quoted(`one more ${at}`)
  expect(seen(`Answer this mail: ${mail}`)).toEqual([])
})

proves('guarantee.sources.refused-twice', 'what a call carried counts if it ran, and its result if it is one', () => {
  expect(seenAfter('allow', {})).toEqual(['cell'])
  expect(seenAfter('allow', { isError: true })).toEqual(['prose'])
  expect(seenAfter('allow', {}, 'eve-1')).toEqual(['argument'])
  for (const verdict of ['block', 'ask'] as const) {
    expect(seenAfter(verdict, {})).toEqual(['prose'])
    expect(seenAfter(verdict, {}, 'eve-1')).toEqual([])
  }
  // After a restart nobody knows whether the call was allowed; the program says what came of it.
  expect(seenAfter(null, {})).toEqual(['cell'])
  expect(seenAfter(null, {}, 'eve-1')).toEqual([])
})
