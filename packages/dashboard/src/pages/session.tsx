import type { SessionDetail, TimelineItem } from '@countersign/protocol'
import { useParams } from '@tanstack/react-router'
import './session/session.css'
import { useCallback, useRef, useState } from 'react'
import { useApi } from '../api/use-api.js'
import { Allowed } from '../components/basic/allowed.js'
import { Text } from '../components/basic/text.js'
import { Freshness, Page, Panel } from '../components/layout/page.js'
import { Loaded, Loading } from '../components/layout/states.js'
import { count, plural, zoneName } from '../text/format.js'
import { useActs } from './session/acts.js'
import { KillSession } from './session/kill-session.js'
import { OpenCalls } from './session/open-calls.js'
import { Proof } from './session/proof.js'
import { SessionFacts } from './session/session-facts.js'
import { StatePanel } from './session/state-panel.js'
import { Timeline } from './session/timeline.js'
import { type TimelineReading, useTimeline } from './session/use-timeline.js'

/** One session: its timeline, and its state after each event. */
export function SessionPage() {
  const { sessionId } = useParams({ from: '/signed-in/sessions/$sessionId' })
  const detail = useApi('loadSessionDetail', { params: { session_id: sessionId } }, { pollMs: 3_000 })
  const timeline = useTimeline(sessionId, detail.data?.session.ledger.seq)
  const acts = useActs(sessionId, detail.data?.session.workflow_id ?? null)
  const [chosen, setChosen] = useState<number | null>(null)
  const side = useRef<HTMLDivElement>(null)
  const choose = useCallback((seq: number, look = false) => {
    setChosen(seq)
    // On a wide screen the state is next to the timeline; on a narrow one it is below, so scroll to it.
    if (look) side.current?.scrollIntoView({ block: 'nearest' })
  }, [])
  const toNewest = () => {
    setChosen(null)
    if (timeline.hasLater && detail.data !== undefined) timeline.goTo(detail.data.session.ledger.seq)
  }
  return (
    <Page
      title={`Session ${sessionId}`}
      heading={<Text value={sessionId} className="heading-name" />}
      actions={
        <>
          <Freshness reading={detail} />
          {detail.data === undefined || detail.data.session.status === 'KILLED' ? null : (
            <Allowed to="killSessionByPerson" otherwise="An approver can kill it.">
              <KillSession session={detail.data.session} />
            </Allowed>
          )}
        </>
      }
    >
      <Loaded reading={detail} rows={3}>
        {(data) => (
          <>
            <SessionFacts detail={data} />
            <OpenCalls detail={data} />
            <div className="session-columns">
              <Panel title="Timeline" aside={`${extent(timeline, data.session.ledger.seq)}, times in ${zoneName()}`}>
                {timeline.problem === null && timeline.items.length === 0 ? <Loading rows={6} /> : null}
                <Timeline
                  timeline={timeline}
                  acts={acts}
                  chosen={chosen ?? data.session.ledger.seq}
                  onChoose={choose}
                  onNewest={toNewest}
                />
              </Panel>
              <div className="session-side" ref={side}>
                <StatePanel {...stateShown(data.session, timeline.items, chosen)} onNow={() => setChosen(null)} />
                <Proof sessionId={sessionId} head={data.session.ledger} />
              </div>
            </div>
          </>
        )}
      </Loaded>
    </Page>
  )
}

/** The state after the chosen event, or the session's state now, and the one before it where that is on the page. */
function stateShown(session: SessionDetail['session'], items: readonly TimelineItem[], chosen: number | null) {
  const item = items.find(({ seq }) => seq === chosen)
  const { seq, state, labels } = item ?? { ...session, seq: session.ledger.seq }
  return { seq, state, labels, before: items.find((earlier) => earlier.seq === seq - 1), isNow: item === undefined }
}

/** How many events there are, or which of them are on the page. */
function extent({ items, hasEarlier, hasLater }: TimelineReading, all: number): string {
  const [first, last] = [items[0], items.at(-1)]
  if (first === undefined || last === undefined || !(hasEarlier || hasLater)) return plural(all, 'event')
  return `${count(first.seq)} to ${count(last.seq)} of ${plural(all, 'event')}`
}
