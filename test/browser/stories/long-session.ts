import type { TimelineItem } from '@countersign/protocol'
import { type Fixtures, MAIN_SESSION } from './fixtures.js'

/** The same answers, but each session has this many events, and its version is the number of the event. */
export function longSession(fixtures: Fixtures, events: number): Fixtures {
  const timeline = fixtures.loadTimeline?.({ params: { session_id: MAIN_SESSION } })
  const story = typeof timeline === 'object' ? timeline.items : []
  const head = { seq: events, hash: story[0]?.hash ?? '' }
  const eventAt = (seq: number): TimelineItem => {
    const item = story[seq % story.length] as TimelineItem
    return { ...item, seq, state: { ...item.state, stateVersion: seq } }
  }
  return {
    ...fixtures,
    loadSessionDetail: (asked) => {
      const detail = fixtures.loadSessionDetail?.(asked) ?? 404
      if (typeof detail === 'number') return detail
      const state = { ...detail.session.state, stateVersion: events }
      return { ...detail, session: { ...detail.session, ledger: head, state } }
    },
    loadTimeline: ({ query }) => {
      const after = query?.after ?? 0
      const count = Math.max(0, Math.min(query?.limit ?? 100, events - after))
      const items = Array.from({ length: count }, (_, index) => eventAt(after + 1 + index))
      return { items, next: after + count < events ? after + count : null, head }
    },
  }
}
