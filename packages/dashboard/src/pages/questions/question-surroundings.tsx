import type { CallRow, QuestionDetail } from '@countersign/protocol'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useApi } from '../../api/use-api.js'
import { Hash } from '../../components/basic/hash.js'
import { Name } from '../../components/basic/text.js'
import { Ago } from '../../components/basic/time.js'
import { Panel } from '../../components/layout/page.js'
import { count, money } from '../../text/format.js'
import { CallDecision, CallEnd } from '../calls/call-result.js'

/** What a person may want to know besides: the calls before, what is left of the limits, the definition and the plan. */
export const QuestionSurroundings = ({ detail }: { detail: QuestionDetail }) => (
  <>
    <Panel
      title="Calls before it"
      aside={
        <Link to="/calls" search={{ session: detail.question.session_id }}>
          All calls of the session
        </Link>
      }
    >
      <Before rows={detail.before} />
    </Panel>
    <Panel title="Left of the session's limits">
      <Remaining remaining={detail.remaining} tool={detail.question.tool_name} />
    </Panel>
    {detail.card === null ? null : (
      <Panel title="Rules in force">
        <Rules detail={detail} card={detail.card} />
      </Panel>
    )}
  </>
)

function Before({ rows }: { rows: readonly CallRow[] }) {
  if (rows.length === 0) return <p className="quiet">This is the first call of the session.</p>
  return (
    <ul className="rows">
      {rows.map((row) => (
        <li key={`${row.seq} ${row.index}`}>
          <Link
            to="/sessions/$sessionId"
            params={{ sessionId: row.session_id }}
            hash={`call-${row.seq}-${row.index}`}
            className="row-link question-call"
          >
            <Name value={row.tool_name} />
            <span>
              <CallDecision row={row} /> <CallEnd row={row} />
            </span>
            <Ago at={row.at} />
          </Link>
        </li>
      ))}
    </ul>
  )
}

function Remaining({ remaining, tool }: { remaining: QuestionDetail['remaining']; tool: string }) {
  const { steps, tool_calls, cost, calls_this_minute, calls_per_tool, checkpoints } = remaining
  const ofTool = Object.hasOwn(calls_per_tool, tool) ? calls_per_tool[tool] : undefined
  const lines: readonly (readonly [string, ReactNode])[] = [
    ['Steps', left(steps)],
    ['Tool calls', left(tool_calls)],
    ['Tool calls in this minute', left(calls_this_minute)],
    ['Cost', cost === null ? left(null) : money(cost)],
    ...(ofTool === undefined ? [] : [['Calls of this tool', count(ofTool)] as const]),
    ['Questions and checkpoints', count(checkpoints)],
  ]
  return (
    <dl className="facts">
      {lines.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

const left = (value: number | null): ReactNode =>
  value === null ? <span className="quiet">no limit</span> : count(value)

interface RulesProps {
  readonly detail: QuestionDetail
  readonly card: NonNullable<QuestionDetail['card']>
}

function Rules({ card: { agent, environment, plan_hash, approved_hash, definition_hash } }: RulesProps) {
  const plans = useApi(
    'listPlans',
    { query: { agent: agent ?? undefined, environment: environment ?? undefined } },
    { enabled: agent !== null && environment !== null },
  )
  const planOf = (hash: string) => plans.data?.items.find(({ compiled_hash }) => compiled_hash === hash)?.plan_id
  return (
    <>
      <PlanLine label="Plan of the session" hash={plan_hash} planId={planOf(plan_hash)} />
      {approved_hash === null ? (
        <p className="quiet">No approved plan was in force for the agent.</p>
      ) : approved_hash === plan_hash ? null : (
        <PlanLine label="Approved plan" hash={approved_hash} planId={planOf(approved_hash)} />
      )}
      {definition_hash === null ? (
        <p className="quiet">Only the name of this tool is known: its definition is not pinned.</p>
      ) : (
        <p>
          <Hash label="Definition of the tool" value={definition_hash} />
        </p>
      )}
    </>
  )
}

const PlanLine = ({ label, hash, planId }: { label: string; hash: string; planId: string | undefined }) => (
  <p>
    <Hash label={label} value={hash} />{' '}
    {planId === undefined ? null : (
      <Link to="/plans/$planId" params={{ planId }}>
        Show the plan
      </Link>
    )}
  </p>
)
