import type { StateSnapshot, TimelineItem } from '@countersign/protocol'
import type { ReactNode } from 'react'
import { Button } from '../../components/basic/button.js'
import { Text } from '../../components/basic/text.js'
import { Panel } from '../../components/layout/page.js'
import { count, money } from '../../text/format.js'

interface StatePanelProps {
  /** The event after which it was. */
  readonly seq: number
  readonly state: StateSnapshot
  readonly labels: readonly string[]
  readonly before: TimelineItem | undefined
  /** It is the session's state, whichever events are on the page. */
  readonly isNow: boolean
  readonly onNow: () => void
}

/** The state of a session now or after one event, with what that event changed highlighted. */
export function StatePanel({ seq, state, labels, before, isNow, onNow }: StatePanelProps) {
  const old = before?.state
  const differs = (key: keyof StateSnapshot) =>
    old !== undefined && JSON.stringify(old[key]) !== JSON.stringify(state[key])
  const counts = Object.entries(state.toolCallCounts)
  // Preconditions that compare values are also stored under a digest of the values, which means nothing to a reader.
  const met = [...new Set(Object.keys(state.satisfiedPreconditions).map((name) => name.replace(/#[0-9a-f]{16}$/, '')))]
  return (
    <Panel
      title={isNow ? 'State now' : `State after event ${seq}`}
      aside={
        isNow ? (
          `after event ${seq}`
        ) : (
          <Button kind="quiet" onClick={onNow}>
            Now
          </Button>
        )
      }
    >
      <p className="state-back">
        <a href={`#event-${seq}`}>Back to event {seq}</a>
      </p>
      <dl className="state" aria-live="polite">
        <Line name="Version" changed={differs('stateVersion')}>
          {state.stateVersion}
        </Line>
        <Line name="Phase" changed={differs('currentPhase')}>
          {state.currentPhase === null ? <span className="quiet">none</span> : <Text value={state.currentPhase} />}
        </Line>
        <Line name="Tool calls" changed={differs('totalToolCalls')}>
          {count(state.totalToolCalls)}
        </Line>
        <Line name="Blocks" changed={differs('totalBlockCount')}>
          {count(state.totalBlockCount)}
          {state.consecutiveBlockCount > 1 ? `, the last ${state.consecutiveBlockCount} in a row` : ''}
        </Line>
        <Line name="Cost" changed={differs('actualCost')}>
          {money(state.actualCost)}
          {state.actualCost === state.totalCost ? '' : `, ${money(state.totalCost)} committed`}
        </Line>
        <Line name="Control revision" changed={differs('controlRevision')}>
          {state.controlRevision}
        </Line>
        <Names name="Preconditions met" values={met} changed={differs('satisfiedPreconditions')} />
        <Names name="Forbidden now" values={state.forbiddenTools} changed={differs('forbiddenTools')} />
        <Names name="Labels" values={labels} changed={before !== undefined && before.labels.length !== labels.length} />
        <Line name="Calls by tool" changed={differs('toolCallCounts')} tall>
          {counts.length === 0 ? (
            <span className="quiet">none</span>
          ) : (
            <ul className="counts">
              {counts.map(([tool, calls]) => (
                <li key={tool} className={old !== undefined && old.toolCallCounts[tool] !== calls ? 'changed' : ''}>
                  <Text value={tool} className="name" />
                  <span className="number">{count(calls)}</span>
                </li>
              ))}
            </ul>
          )}
        </Line>
        {state.killed ? (
          <Line name="Killed" changed={differs('killed')}>
            for good
          </Line>
        ) : null}
      </dl>
    </Panel>
  )
}

interface LineProps {
  readonly name: string
  readonly changed: boolean
  readonly tall?: boolean
  readonly children: ReactNode
}

const Line = ({ name, changed, tall = false, children }: LineProps) => (
  <div className={[changed ? 'changed' : '', tall ? 'tall' : ''].join(' ').trim() || undefined}>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

const Names = ({ name, values, changed }: { name: string; values: readonly string[]; changed: boolean }) => (
  <Line name={name} changed={changed}>
    {values.length === 0 ? (
      <span className="quiet">none</span>
    ) : (
      values.map((value, at) => (
        <span key={value}>
          {at === 0 ? '' : ', '}
          <Text value={value} className="name" />
        </span>
      ))
    )}
  </Line>
)
