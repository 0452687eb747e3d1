import type { ChangedCalls, PlanDetail } from '@countersign/protocol'
import { Name, Text } from '../../components/basic/text.js'
import { Ago } from '../../components/basic/time.js'
import { Panel } from '../../components/layout/page.js'
import { count, plural } from '../../text/format.js'
import { effectOf, SHOWN_TOOLS } from './backtest-words.js'

/** What the newest finished backtest says would newly run and newly be blocked: what a reviewer has to know first. */
export function Effect({ detail: { plan, backtest, backtest_under_way } }: { detail: PlanDetail }) {
  const isDraft = plan.state === 'draft'
  if (backtest === null) {
    return (
      <Panel title="Effect on captured sessions">
        <ul className="effects">
          <li className={isDraft ? 'effect-warn' : undefined}>
            {backtest_under_way
              ? 'A backtest is under way. It shows which calls would newly run and which would newly be blocked.'
              : 'No backtest of this version has finished. Run one below: it shows which calls would newly run and which would newly be blocked.'}
          </li>
        </ul>
      </Panel>
    )
  }
  const { run, block, unjudged } = effectOf(backtest)
  return (
    <Panel
      title="Effect on captured sessions"
      aside={
        <>
          {backtest_under_way ? 'another backtest is under way; this one is from ' : 'backtest from '}
          <Ago at={backtest.created_at} />
        </>
      }
    >
      <p className="quiet">
        Of {plural(backtest.calls, 'call')} in {plural(backtest.sessions, 'captured session')} of{' '}
        <Text value={plan.agent} />, compared with what was decided when they were made:
      </p>
      <ul className="effects">
        <li className={run.tone === null ? undefined : `effect-${run.tone}`} data-effect="run">
          <strong>{run.words}</strong>
          <Tools calls={run.tools} of="newly_allowed" />
          {run.asked === 0 ? null : ` A person would be asked first about ${count(run.asked)} of them.`}
        </li>
        <li data-effect="block">
          <strong>{block.words}</strong>
          <Tools calls={block.tools} of="newly_blocked" />
        </li>
        {unjudged.map((words) => (
          <li key={words} className="effect-warn">
            <strong>{words}</strong> What they read was not captured.
          </li>
        ))}
      </ul>
    </Panel>
  )
}

interface ToolsProps {
  readonly calls: readonly ChangedCalls[]
  readonly of: 'newly_allowed' | 'newly_blocked'
}

function Tools({ calls, of }: ToolsProps) {
  if (calls.length === 0) return null
  const others = calls.length - SHOWN_TOOLS
  return (
    <>
      {' '}
      {calls.slice(0, SHOWN_TOOLS).map((row, at) => (
        <span key={row.tool_name}>
          {at === 0 ? '' : ', '}
          {count(row[of])} of <Name value={row.tool_name} />
          {row.side_effect === null ? '' : ` (${row.side_effect})`}
        </span>
      ))}
      {others > 0 ? ` and ${plural(others, 'more tool')}` : ''}.
    </>
  )
}
