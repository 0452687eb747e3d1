import { expect } from 'vitest'
import { rounds, testSeed } from '../../../../test/support/data/rounds.js'
import { askingSession, first, questionOf } from '../../../../test/support/model/asking-session.js'
import { proves } from '../../../../test/support/proves.js'

const COMMANDS = rounds(800, 20_000)
/** Commands of one session: then another begins, since a session asks ten times and ends with a kill. */
const PER_SESSION = 40
const MEMBERS = ['ada', 'bob', 'cleo'] as const
const HOUR_MS = 3_600_000

/** The same numbers for the same seed. */
function numbersOf(seed: number): (below: number) => number {
  let state = seed >>> 0 || 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

/** What a simple model knows of a question. */
interface Known {
  readonly amount: number
  readonly needed: number
  yes: Set<string>
  state: 'waiting' | 'approved' | 'used' | 'denied' | 'ended'
  until: number
}

proves(
  ['question.used-once', 'question.verified'],
  'random commands: no answer is lost or used twice, no call runs without its answer, the ledger verifies at every step',
  () => {
    const seed = testSeed()
    const next = numbersOf(seed)
    let done = 0
    while (done < COMMANDS) {
      const steps = Math.min(PER_SESSION, COMMANDS - done)
      runSession(next, steps, `seed ${seed}, command ${done}`)
      done += steps
    }
  },
  600_000,
)

function runSession(next: (below: number) => number, steps: number, where: string): void {
  const s = askingSession()
  const known = new Map<string, Known>()
  let nowMs = Date.parse(s.at())
  let isKilled = false
  const pass = (ms: number) => {
    s.later(ms)
    nowMs += ms
    for (const one of known.values()) {
      if ((one.state === 'waiting' || one.state === 'approved') && one.until < nowMs) one.state = 'ended'
    }
  }
  const some = (states: readonly Known['state'][]) => {
    const ids = [...known].filter(([, one]) => states.includes(one.state)).map(([id]) => id)
    return ids.length === 0 ? undefined : ids[next(ids.length)]
  }
  for (let step = 0; step < steps && !isKilled; step++) {
    switch (next(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4: {
        const amount = [300, 301, 950][next(3)] ?? 300
        propose(amount)
        // A reply that was lost is a proposal that is made again.
        if (next(4) === 0) propose(amount)
        break
      }
      case 5:
      case 6:
      case 7:
      case 8: {
        const id = some(['waiting'])
        const one = id === undefined ? undefined : known.get(id)
        if (id === undefined || one === undefined) break
        const member = MEMBERS[next(MEMBERS.length)] ?? 'ada'
        if (one.yes.has(member)) break
        s.answer(id, member)
        one.yes.add(member)
        if (one.yes.size < one.needed) break
        one.state = 'approved'
        one.until = Math.max(one.until, nowMs + HOUR_MS)
        break
      }
      case 9: {
        const id = some(['waiting', 'approved'])
        const one = id === undefined ? undefined : known.get(id)
        if (id === undefined || one === undefined) break
        s.answer(id, MEMBERS[next(MEMBERS.length)] ?? 'ada', 'deny')
        one.state = 'denied'
        break
      }
      case 10:
        pass([60_000, 5 * HOUR_MS, 7 * 24 * HOUR_MS][next(3)] ?? 0)
        break
      default:
        if (next(6) === 0) {
          s.apply({ type: 'killed', at: s.at(), body: { by: 'client' } })
          isKilled = true
        } else {
          // Another process takes over: nothing is in doubt, and it redeems.
          const fence = s.state().fence + 1
          const body = { holder_id: `h${fence}`, fence, takeover: true, in_doubt: [] }
          s.apply({ type: 'recovered', at: s.at(), body })
        }
    }
    const verdict = s.verify()
    expect(verdict, where).toMatchObject({ ok: true })
  }
  const states = new Map((s.state().questions ?? []).map(({ id, state }) => [id, state]))
  for (const [id, one] of known) {
    const live = one.state === 'waiting' || one.state === 'approved'
    if (isKilled && live) expect(states.get(id), where).toBe('withdrawn')
    else if (one.state === 'used' || one.state === 'denied') expect(states.get(id), where).toBe(one.state)
  }

  function propose(amount: number): void {
    const usable = [...known].find(([, one]) => one.amount === amount && one.state === 'approved')
    const denied = [...known].some(([, one]) => one.amount === amount && one.state === 'denied')
    const verdict = s.propose([['pay', { amount }]])
    const decision = first(verdict)
    if (decision?.decision === 'allow') {
      expect(usable, `${where}: a call ran without an answer`).toBeDefined()
      expect(decision.approval?.question_id, where).toBe(usable?.[0])
      if (usable !== undefined) usable[1].state = 'used'
      return
    }
    // Only another rule stops a call that was approved: here the sum of what was paid, or the breaker.
    if (usable !== undefined) {
      expect(['aggregate_limit_exceeded', 'killed'], where).toContain(decision?.reason)
      if (s.state().status === 'KILLED') isKilled = true
      return
    }
    const id = questionOf(verdict)
    if (decision?.reason !== null) {
      if (decision?.reason === 'checkpoint_denied') expect(denied, where).toBe(true)
      return
    }
    const { needed = 1, expires_at = s.at() } = decision.question ?? {}
    if (!known.has(id))
      known.set(id, { amount, needed, yes: new Set(), state: 'waiting', until: Date.parse(expires_at) })
  }
}
