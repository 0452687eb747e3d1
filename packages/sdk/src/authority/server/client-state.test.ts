import { describe, expect, test } from 'vitest'
import {
  type ClientEvent,
  type ClientState,
  createClientState,
  INITIAL_STATE,
  MOVES,
  nextState,
} from './client-state.js'

const ASPECTS = Object.keys(MOVES) as (keyof ClientState)[]
const EVENTS = [
  ...new Set(ASPECTS.flatMap((aspect) => Object.values(MOVES[aspect]).flatMap((moves) => Object.keys(moves)))),
] as ClientEvent[]

/** Every state that events lead to from the first one. */
function reachable(): ClientState[] {
  const found = new Map([[JSON.stringify(INITIAL_STATE), INITIAL_STATE]])
  for (const state of found.values()) {
    for (const event of EVENTS) {
      const next = attempt(state, event)
      if (next !== null) found.set(JSON.stringify(next), next)
    }
  }
  return [...found.values()]
}

function attempt(state: ClientState, event: ClientEvent): ClientState | null {
  try {
    return nextState(state, event)
  } catch {
    return null
  }
}

describe('the moves of a governed client', () => {
  test.each(ASPECTS)('every mode of %s can be reached', (aspect) => {
    const modes = new Set(reachable().map((state) => state[aspect]))
    expect([...modes].sort()).toEqual(Object.keys(MOVES[aspect]).sort())
  })

  test('every event is possible somewhere', () => {
    const impossible = EVENTS.filter((event) => reachable().every((state) => attempt(state, event) === null))
    expect(impossible).toEqual([])
  })

  test('a killed client stays killed, whatever happens', () => {
    const killed = reachable().filter(({ stop }) => stop === 'killed')
    const after = killed.flatMap((state) => EVENTS.flatMap((event) => attempt(state, event) ?? []))
    expect(after.every(({ stop }) => stop === 'killed')).toBe(true)
  })

  test('no event lets a client that was stopped take calls again', () => {
    const stopped = reachable().filter(({ stop }) => stop !== 'none')
    const after = stopped.flatMap((state) => EVENTS.flatMap((event) => attempt(state, event) ?? []))
    expect(after.every(({ stop }) => stop !== 'none')).toBe(true)
  })

  test('calls are decided here only after the server has failed', () => {
    const alone = nextState(nextState(INITIAL_STATE, 'server_failed'), 'decided_here')
    expect(alone.server).toBe('alone')
    expect(nextState(alone, 'server_decided').server).toBe('reachable')
  })

  test.each([
    ['decided_here', INITIAL_STATE, 'server reachable'],
    ['opened_fresh', nextState(INITIAL_STATE, 'opened_fresh'), 'session open'],
    ['create_unanswered', nextState(INITIAL_STATE, 'opened_with_history'), 'session open'],
  ] as const)('%s is refused where it cannot happen', (event, state, where) => {
    expect(() => nextState(state, event)).toThrow(`internal error: ${event} is no move from ${where}`)
  })

  test('an impossible move is reported, and the client takes no more calls', () => {
    const reported: string[] = []
    const client = createClientState(({ message }) => reported.push(message))
    client.move('decided_here')
    expect(reported).toEqual(['internal error: decided_here is no move from server reachable'])
    expect(client.now()).toEqual({ ...INITIAL_STATE, stop: 'compromised' })
  })
})
