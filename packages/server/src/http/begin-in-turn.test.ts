import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { proves } from '../../../../test/support/proves.js'
import { beginInTurn } from './begin-in-turn.js'

function listening() {
  const begun: string[] = []
  const app = beginInTurn(
    (incoming) => {
      begun.push(incoming.url ?? '')
    },
    ({ url }) => (url ?? '').slice(0, 1),
  )
  const ask = (url: string) => {
    const socket = { destroyed: false }
    app({ url, socket } as IncomingMessage, {} as ServerResponse)
    return socket
  }
  return { begun, ask }
}

test('a request begins at once where few come', async () => {
  const { begun, ask } = listening()
  for (let at = 0; at < 5; at++) {
    ask(`a${at}`)
    expect(begun).toHaveLength(at + 1)
  }
  await setImmediate()
  ask('a5')
  expect(begun).toHaveLength(6)
})

proves(
  'limit.fair.begin',
  'of four hundred requests sixteen begin in a turn, and one of another sender is among them',
  async () => {
    const { begun, ask } = listening()
    for (let at = 0; at < 400; at++) ask(`a${at}`)
    ask('b0')
    expect(begun).toHaveLength(16)
    await setImmediate()
    expect(begun).toHaveLength(32)
    expect(begun).toContain('b0')
    for (let turn = 3; turn <= 26; turn++) await setImmediate()
    expect(begun.filter((url) => url.startsWith('a'))).toEqual(Array.from({ length: 400 }, (_, at) => `a${at}`))
    ask('a400')
    expect(begun.at(-1)).toBe('a400')
  },
)

test('what waits and whose connection is gone takes nothing from the others', async () => {
  const { begun, ask } = listening()
  const sockets = Array.from({ length: 1_000 }, (_, at) => ask(`a${at}`))
  for (const socket of sockets) socket.destroyed = true
  ask('a1000')
  await setImmediate()
  expect(begun.slice(16)).toEqual(['a1000'])
})
