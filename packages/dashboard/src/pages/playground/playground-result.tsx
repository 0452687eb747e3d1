import type { PlaygroundView } from '@countersign/protocol'
import { Badge } from '../../components/basic/badge.js'
import { Hash } from '../../components/basic/hash.js'
import { Icon } from '../../components/basic/icon.js'
import { Name, Text } from '../../components/basic/text.js'
import { Panel } from '../../components/layout/page.js'
import { narrowingMeaning, reasonMeaning, reasonTitle } from '../../text/reasons.js'
import { Reason } from '../session/call-card.js'
import '../session/session.css'

type Call = PlaygroundView['calls'][number]

/** The reply of the server: compile errors, tools that preflight removes, and every rule for each call. */
export function PlaygroundResult({ view }: { view: PlaygroundView }) {
  return (
    <section aria-live="polite">
      {view.errors.length === 0 ? null : (
        <Panel title="The contracts do not compile">
          <Notes notes={view.errors} tone="block" />
        </Panel>
      )}
      {view.warnings.length === 0 ? null : (
        <Panel title="Notes">
          <Notes notes={view.warnings} tone="warn" />
        </Panel>
      )}
      {view.narrowing === null || view.narrowing.removed.length === 0 ? null : (
        <Panel title="Preflight would remove">
          <ul className="removed">
            {view.narrowing.removed.map((tool) => (
              <li key={tool.tool}>
                <Name value={tool.tool} /> <span>{narrowingMeaning(tool.reason)}</span>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {view.ok ? (
        <Panel
          title="Decisions"
          aside={view.compiled_hash === null ? undefined : <Hash label="Plan" value={view.compiled_hash} />}
        >
          {view.calls.length === 0 ? <p className="quiet">The response has no tool calls.</p> : null}
          <div className="decisions">
            {view.calls.map((call) => (
              <CallResult key={call.call_id} call={call} />
            ))}
          </div>
        </Panel>
      ) : null}
    </section>
  )
}

const Notes = ({ notes, tone }: { notes: PlaygroundView['errors']; tone: 'block' | 'warn' }) => (
  <ul className={`remarks remarks-${tone}`}>
    {notes.map((note) => (
      <li key={`${note.file} ${note.line} ${note.message}`}>
        <Name value={note.line === null ? note.file : `${note.file}:${note.line}`} /> <Text value={note.message} />
        {note.fix === null ? null : (
          <span className="cell-note">
            <Text value={note.fix} />
          </span>
        )}
      </li>
    ))}
  </ul>
)

function CallResult({ call }: { call: Call }) {
  const allowed = call.decision === 'allow'
  const first = call.ladder.findIndex((rung) => rung.applies)
  return (
    <article className={allowed ? 'call call-allow' : 'call call-block'}>
      <header className="call-head">
        <Badge tone={allowed ? 'allow' : 'block'}>
          <Icon name={allowed ? 'check' : 'cross'} size={14} />
          {allowed ? 'Allowed' : 'Blocked'}
        </Badge>
        <h3>
          <Name value={call.tool_name} />
        </h3>
      </header>
      {call.reasons.map((block) => (
        <Reason key={`${block.reason} ${block.detail ?? ''}`} block={block} />
      ))}
      {call.checkpoints.length === 0 ? null : (
        <p className="call-note">
          Would ask for approval: <Text value={call.checkpoints.join(', ')} />
        </p>
      )}
      <details className="ladder" open={!allowed}>
        <summary>{allowed ? `All ${call.ladder.length} rules passed` : 'All rules, in order'}</summary>
        <ol>
          {call.ladder.map((rung, at) => (
            <li
              key={rung.reason}
              className={rung.applies ? (at === first ? 'rung rung-first' : 'rung rung-applies') : 'rung'}
              title={reasonMeaning(rung.reason)}
            >
              <Icon name={rung.applies ? 'cross' : 'check'} size={14} />
              {reasonTitle(rung.reason)}
              {at === first ? <span className="visually-hidden"> decides</span> : null}
            </li>
          ))}
        </ol>
      </details>
    </article>
  )
}
