import type { TimelineItem } from '@countersign/protocol'
import { useLocation } from '@tanstack/react-router'
import { useEffect } from 'react'
import { Button } from '../../components/button.js'
import { Hash } from '../../components/hash.js'
import { Failure } from '../../components/states.js'
import { Text } from '../../components/text.js'
import { clockTime, fullTime, plural } from '../../format.js'
import { narrowingMeaning } from '../../reasons.js'
import { CallCard } from './call-card.js'
import { eventWords } from './event-words.js'
import type { TimelineReading } from './use-timeline.js'

interface TimelineProps {
  readonly timeline: TimelineReading
  readonly chosen: number | null
  readonly onChoose: (seq: number, look?: boolean) => void
}

export function Timeline({ timeline, chosen, onChoose }: TimelineProps) {
  useDeepLink(timeline.items.length > 0, onChoose)
  return (
    <>
      {timeline.hasEarlier ? (
        <Button busy={timeline.busy} onClick={timeline.loadEarlier}>
          Earlier events
        </Button>
      ) : null}
      <ol className="timeline">
        {timeline.items.map((item) => (
          <Moment key={item.seq} item={item} chosen={item.seq === chosen} onChoose={onChoose} />
        ))}
      </ol>
      {timeline.problem === null ? null : <Failure problem={timeline.problem} onRetry={timeline.retry} />}
      {timeline.hasLater ? (
        <Button busy={timeline.busy} onClick={timeline.loadLater}>
          Later events
        </Button>
      ) : null}
    </>
  )
}

/** The call that the address names is brought into sight and chosen, once it is there. */
function useDeepLink(ready: boolean, onChoose: (seq: number) => void): void {
  const { hash } = useLocation()
  useEffect(() => {
    const seq = /^(?:call|event)-(\d+)/.exec(hash)?.[1]
    if (!ready || seq === undefined) return
    onChoose(Number(seq))
    const element = document.getElementById(hash)
    element?.scrollIntoView({ block: 'center' })
    element?.focus({ preventScroll: true })
  }, [ready, hash, onChoose])
}

interface MomentProps {
  readonly item: TimelineItem
  readonly chosen: boolean
  readonly onChoose: (seq: number, look?: boolean) => void
}

function Moment({ item, chosen, onChoose }: MomentProps) {
  const { title, tone, facts } = eventWords(item)
  return (
    <li className={`moment moment-${tone}`} id={`event-${item.seq}`} tabIndex={-1} data-chosen={chosen || undefined}>
      <div className="moment-head">
        <h3>{title}</h3>
        <time dateTime={item.at} title={fullTime(item.at)}>
          {clockTime(item.at)}
        </time>
        <button
          type="button"
          className="moment-state"
          aria-pressed={chosen}
          onClick={() => onChoose(item.seq, true)}
          title="Show the state as it was after this event"
        >
          State after {item.seq}
        </button>
      </div>
      <p className="moment-facts">
        {facts.map((fact) => (
          <span key={fact}>
            <Text value={fact} />
          </span>
        ))}
        <Hash label="hash" value={item.hash} />
      </p>
      {item.preflight === null ? null : <Preflight preflight={item.preflight} />}
      {item.calls.map((entry) => (
        <CallCard key={entry.index} seq={item.seq} call={entry} />
      ))}
    </li>
  )
}

function Preflight({ preflight: { allowed, removed } }: { preflight: NonNullable<TimelineItem['preflight']> }) {
  if (allowed.length + removed.length === 0) return <p className="preflight quiet">Preflight: no tools were offered.</p>
  return (
    <details className="preflight" open={removed.length > 0 && removed.length <= 3}>
      <summary>
        Preflight offered {plural(allowed.length, 'tool')}
        {removed.length === 0 ? ', removed none' : ` and removed ${removed.length}`}
      </summary>
      {removed.length === 0 ? null : (
        <ul className="removed">
          {removed.map((tool) => (
            <li key={tool.tool}>
              <Text value={tool.tool} className="name" />
              <span>
                {narrowingMeaning(tool.reason)}
                {tool.detail === undefined ? '' : ': '}
                {tool.detail === undefined ? null : <Text value={tool.detail} />}
              </span>
            </li>
          ))}
        </ul>
      )}
      {allowed.length === 0 ? null : (
        <p className="quiet">
          Offered:{' '}
          {allowed.map((tool, at) => (
            <span key={tool}>
              {at === 0 ? '' : ', '}
              <Text value={tool} className="name" />
            </span>
          ))}
        </p>
      )}
    </details>
  )
}
