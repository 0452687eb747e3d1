import type { AuditEntry, LedgerBody, LedgerQuestion, TimelineItem } from '@countersign/protocol'
import { useLocation } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { Button } from '../../components/basic/button.js'
import { Hash } from '../../components/basic/hash.js'
import { Icon } from '../../components/basic/icon.js'
import { Text } from '../../components/basic/text.js'
import { Failure } from '../../components/layout/states.js'
import { fullTime, plural, timeAfter } from '../../text/format.js'
import { narrowingMeaning } from '../../text/reasons.js'
import { actBehind } from './acts.js'
import { CallCard } from './call-card.js'
import { describeEvent } from './describe-event.js'
import { QuestionLink } from './question-link.js'
import type { TimelineReading } from './use-timeline.js'

interface TimelineProps {
  readonly timeline: TimelineReading
  readonly acts: readonly AuditEntry[]
  readonly chosen: number | null
  readonly onChoose: (seq: number, look?: boolean) => void
  readonly onNewest: () => void
}

export function Timeline({ timeline, acts, chosen, onChoose, onNewest }: TimelineProps) {
  useDeepLink(timeline, onChoose)
  return (
    <>
      {timeline.hasEarlier || timeline.hasLater ? (
        <div className="timeline-ends">
          {timeline.hasEarlier ? (
            <Button busy={timeline.busy} onClick={timeline.loadEarlier}>
              Earlier events
            </Button>
          ) : null}
          {timeline.hasLater ? <Button onClick={onNewest}>Newest events</Button> : null}
        </div>
      ) : null}
      <ol className="timeline">
        {timeline.items.map((item, at) => (
          <Moment
            key={item.seq}
            item={item}
            act={actBehind(item, acts)}
            before={timeline.items[at - 1]?.at}
            chosen={item.seq === chosen}
            onChoose={onChoose}
          />
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

/** Scrolls to the call in the URL and selects it, once, as soon as it is loaded. */
function useDeepLink({ items, head = 0, goTo }: TimelineReading, onChoose: (seq: number) => void): void {
  const { hash } = useLocation()
  const shown = useRef('')
  const seq = Number(/^(?:call|event)-(\d+)/.exec(hash)?.[1] ?? 0)
  const ready = items.length > 0 && seq > 0 && seq <= head
  useEffect(() => {
    if (!ready || shown.current === hash) return
    // An event that is not on the page is loaded first; this runs again afterwards.
    const event = document.getElementById(`event-${seq}`)
    if (event === null) return goTo(seq)
    shown.current = hash
    onChoose(seq)
    const element = document.getElementById(hash) ?? event
    element.scrollIntoView({ block: 'center' })
    element.focus({ preventScroll: true })
  }, [ready, hash, seq, onChoose, goTo])
}

interface MomentProps {
  readonly item: TimelineItem
  /** Who did it, where a person or a key did. */
  readonly act: AuditEntry | null
  /** The time of the previous event. */
  readonly before: string | undefined
  readonly chosen: boolean
  readonly onChoose: (seq: number, look?: boolean) => void
}

function Moment({ item, act, before, chosen, onChoose }: MomentProps) {
  const { title, tone, facts, questionId } = describeEvent(item)
  return (
    <li className={`moment moment-${tone}`} id={`event-${item.seq}`} tabIndex={-1} data-chosen={chosen || undefined}>
      <div className="moment-head">
        <h3>{title}</h3>
        <time dateTime={item.at} title={fullTime(item.at)}>
          {timeAfter(item.at, before)}
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
      {questionId === undefined ? null : <QuestionLink questionId={questionId} />}
      {act === null ? null : <Act act={act} />}
      {item.changed === undefined ? null : (
        <p className="proof proof-bad" role="alert">
          <Icon name="alert" /> Stored content does not match its hash in the ledger: it was changed after the fact and
          is not shown ({item.changed.join(', ')}).
        </p>
      )}
      {item.preflight === null ? null : <Preflight preflight={item.preflight} />}
      {item.calls.map((entry) => (
        <CallCard key={entry.index} seq={item.seq} call={entry} question={questionOf(item, entry.index)} />
      ))}
    </li>
  )
}

/** What the ledger says of people who are asked about a call. */
function questionOf({ type, body }: TimelineItem, index: number): LedgerQuestion | undefined {
  if (type !== 'proposal') return undefined
  return (body as unknown as LedgerBody<'proposal'>).calls.find((entry) => entry.index === index)?.question
}

/** Who, and the reason they gave. A label is its own reason. */
const Act = ({ act: { action, actor, key, detail } }: { act: AuditEntry }) => (
  <p className="moment-act">
    By {actor === null ? <Text value={key === null ? 'a program' : `the key ${key.name}`} /> : <Text value={actor} />}
    {detail === null || action === 'label_added' ? null : (
      <>
        :{' '}
        <q>
          <Text value={detail} />
        </q>
      </>
    )}
  </p>
)

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
