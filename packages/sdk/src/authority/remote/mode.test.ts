import type { PendingCallView } from '@countersign/protocol'
import { describe, expect, test } from 'vitest'
import type { LocalSession } from '../local/local-session.js'
import { awayIn, type Live, type LiveEvent, liveIn, MOVES, type Mode, type ModeEvent, nextMode } from './mode.js'

const fork = {} as LocalSession
const calls: readonly PendingCallView[] = [{ call_id: 'c1' } as PendingCallView]

const LIVE: readonly Live[] = [
  { is: 'new', create: 'untried' },
  { is: 'new', create: 'unanswered' },
  { is: 'new', create: 'refused' },
  { is: 'open' },
  { is: 'behind', unseen: false },
  { is: 'behind', unseen: true },
  { is: 'in_doubt', calls, unseen: false },
  { is: 'in_doubt', calls, unseen: true },
]
const AWAY: readonly Mode[] = LIVE.flatMap((from) => [
  { is: 'away', from, fork: null },
  { is: 'away', from, fork },
])
const STOPPED: readonly Mode[] = [...LIVE, ...AWAY].flatMap((from) =>
  (['killed', 'compromised', 'lost'] as const).map((why) => ({ is: 'stopped', why, from }) as Mode),
)
const MODES: readonly Mode[] = [...LIVE, ...AWAY, ...STOPPED]

const LEARNED: readonly LiveEvent[] = [
  { event: 'create_unanswered' },
  { event: 'create_refused' },
  { event: 'opened' },
  { event: 'opened_with_history', unseen: false },
  { event: 'opened_with_history', unseen: true },
  { event: 'diverged', unseen: false },
  { event: 'diverged', unseen: true },
  { event: 'doubted', calls, unseen: true },
  { event: 'caught_up' },
  { event: 'doubt_resolved' },
]
const EVENTS: readonly ModeEvent[] = [
  ...LEARNED,
  { event: 'failed' },
  { event: 'answered' },
  { event: 'decided_here', fork },
  { event: 'stopped', why: 'killed' },
  { event: 'stopped', why: 'compromised' },
  { event: 'stopped', why: 'lost' },
]

function after(mode: Mode, event: ModeEvent): Mode | null {
  try {
    return nextMode(mode, event)
  } catch {
    return null
  }
}

/** Every mode and event, with the mode that follows, where the table has one. */
const PAIRS = MODES.flatMap((mode) => EVENTS.map((event) => ({ mode, event, next: after(mode, event) })))

describe('the modes of a session on the server', () => {
  test('what is learned moves as the table says, whether or not the server answers and the session goes on', () => {
    for (const { mode, event, next } of PAIRS) {
      if (!LEARNED.includes(event as LiveEvent)) continue
      const expected = MOVES[liveIn(mode).is][(event as LiveEvent).event]
      expect(next === null ? undefined : liveIn(next).is).toBe(expected)
      if (next !== null)
        expect([next.is === 'stopped', awayIn(next)?.fork]).toEqual([mode.is === 'stopped', awayIn(mode)?.fork])
    }
  })

  test('every mode is reached, and every event is possible somewhere', () => {
    const reached = new Set(PAIRS.map(({ next }) => next?.is))
    for (const is of ['new', 'open', 'behind', 'in_doubt', 'away', 'stopped'] as const) expect(reached).toContain(is)
    for (const event of EVENTS) expect(PAIRS.some((pair) => pair.event === event && pair.next !== null)).toBe(true)
  })

  test('a stopped session takes no more calls whatever happens, and a killed one stays killed', () => {
    for (const { mode, event, next } of PAIRS) {
      if (mode.is !== 'stopped' || next === null) continue
      expect(next.is).toBe('stopped')
      if (mode.why === 'killed' && next.is === 'stopped') expect(next.why).toBe('killed')
      if (event.event === 'stopped' && mode.why !== 'killed') expect(next).toMatchObject({ why: event.why })
    }
  })

  test('calls are decided here only after the server has failed, and no more once it has answered', () => {
    for (const { mode, event, next } of PAIRS) {
      if (event.event === 'decided_here') expect(next !== null).toBe(awayIn(mode) !== null)
      if (event.event === 'answered' && next !== null) expect(awayIn(next)).toBeNull()
      if (event.event === 'failed' && mode.is !== 'stopped') expect(next).toMatchObject({ is: 'away' })
      const gained = next !== null && awayIn(next)?.fork != null && awayIn(mode)?.fork == null
      if (gained) expect(event.event).toBe('decided_here')
    }
  })

  test('calls that nobody has seen are forgotten only by catching up', () => {
    for (const { mode, event, next } of PAIRS) {
      const [before, now] = [liveIn(mode), next === null ? null : liveIn(next)]
      if (now === null || !('unseen' in before) || !before.unseen || event.event === 'caught_up') continue
      expect('unseen' in now && now.unseen).toBe(true)
    }
  })

  test('an outage changes nothing of what is known', () => {
    for (const live of LIVE) {
      const away = nextMode(live, { event: 'failed' })
      const decided = nextMode(away, { event: 'decided_here', fork })
      expect(nextMode(decided, { event: 'answered' })).toEqual(live)
      expect(nextMode(away, { event: 'failed' })).toEqual(away)
    }
  })

  test('the error of an impossible move names both', () => {
    expect(() => nextMode({ is: 'open' }, { event: 'decided_here', fork })).toThrow(
      'internal error: decided_here is no move from open',
    )
    expect(() => nextMode({ is: 'new', create: 'untried' }, { event: 'caught_up' })).toThrow(
      'caught_up is no move from new',
    )
  })
})
