import type { PlanDetail, RunReport, RunView } from '@countersign/protocol'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi, useChange, useWhenOver } from '../../api/use-api.js'
import { Allowed } from '../../components/basic/allowed.js'
import { Button } from '../../components/basic/button.js'
import { Name, Text } from '../../components/basic/text.js'
import { Ago } from '../../components/basic/time.js'
import { FormProblem } from '../../components/form/form-problem.js'
import { Panel } from '../../components/layout/page.js'
import { Loading } from '../../components/layout/states.js'
import { count, percent, sentence, words } from '../../text/format.js'
import { changedSessions, divergenceWords } from './backtest-words.js'

/** As many as the service judges unless it is asked for more. */
const MOST_SESSIONS = 1_000

/** What the plan would have done to the sessions that were seen. */
export function Backtest({ detail: { plan } }: { detail: PlanDetail }) {
  const [startedId, setRunId] = useState<string | null>(null)
  const kept = useApi('listRuns', { query: { compiled_hash: plan.compiled_hash, limit: 1 } })
  const latest = kept.data?.items[0]
  const runId = startedId ?? latest?.run_id ?? null
  const start = useChange('startRun', ['loadLimits', 'loadPlan', 'listRuns', 'listAudit'])
  const run = useApi(
    'loadRunDetail',
    { params: { run_id: runId ?? '' } },
    { enabled: runId !== null && start.data?.run.status !== 'done', pollMs: 1_000 },
  )
  const view = run.data?.run ?? start.data?.run ?? latest ?? null
  const budget = run.data?.budget ?? start.data?.budget
  const go = () =>
    start.mutate({ body: { plan_id: plan.plan_id } }, { onSuccess: ({ run: { run_id } }) => setRunId(run_id) })
  const isUnderWay = view?.status === 'queued' || view?.status === 'running'
  // What the plan says of its backtests is from before this one ended.
  useWhenOver(isUnderWay, ['loadPlan', 'listRuns'])
  const busy = start.isPending || isUnderWay
  return (
    <Panel
      title="Backtest"
      aside={budget === undefined ? undefined : `${count(budget.used)} of ${count(budget.limit)} runs used`}
    >
      <p className="backtest-lead">
        <span className="lead">
          Judges the newest captured sessions of <Text value={plan.agent} />, at most {count(MOST_SESSIONS)}, by this
          plan, call by call, and changes nothing.
        </span>
        <Allowed to="startRun" otherwise="An approver can run it.">
          <Button icon="playground" busy={busy} onClick={go}>
            {view === null ? 'Run a backtest' : 'Run it again'}
          </Button>
        </Allowed>
      </p>
      <FormProblem problem={start.error ?? run.error} />
      {view === null || busy ? null : (
        <p className="quiet">
          Run <Name value={view.run_id} />, <Ago at={view.created_at} />.
        </p>
      )}
      {busy ? <Loading rows={2} label="The backtest runs" /> : view === null ? null : <Result run={view} />}
    </Panel>
  )
}

function Result({ run: { report, error } }: { run: RunView }) {
  if (report === null) return <p className="form-problem">{error ?? 'The run failed without a word.'}</p>
  const reasons = Object.entries(report.would_block).sort((a, b) => b[1] - a[1])
  return (
    <div className="backtest">
      <div className="tiles">
        <Figure
          label="Sessions unchanged"
          value={percent(report.pass_rate)}
          note={`${count(report.sessions_passed)} of ${count(report.sessions)}`}
        />
        <Figure label="Calls blocked" value={count(report.calls_blocked)} note={`of ${count(report.calls)}`} />
        <Figure label="Covered" value={percent(report.coverage)} note="of calls have a contract in this plan" />
      </div>
      {reasons.length === 0 ? null : (
        <p>
          Would block:{' '}
          {reasons.map(([reason, times]) => `${sentence(words(reason)).toLowerCase()} ${times}×`).join(', ')}.
        </p>
      )}
      <Divergences report={report} />
    </div>
  )
}

const Figure = ({ label, value, note }: { label: string; value: string; note: string }) => (
  <div className="tile">
    <span className="tile-label">{label}</span>
    <span className="tile-value">{value}</span>
    <span className="tile-note">{note}</span>
  </div>
)

function Divergences({ report }: { report: RunReport }) {
  const { divergences, sessions } = report
  if (sessions === 0) return <p className="quiet">No captured session to judge yet.</p>
  const { title, cut } = divergenceWords(report)
  if (changedSessions(report) === 0) return <p>No session would change.</p>
  return (
    <>
      <h3>{title}</h3>
      {cut === null ? null : <p className="quiet">{cut}</p>}
      <ul className="rows">
        {divergences.map((entry) => (
          <li key={`${entry.session} ${entry.turn} ${entry.call}`} className="divergence">
            <Link to="/sessions/$sessionId" params={{ sessionId: entry.session }}>
              <Name value={entry.session} />
            </Link>
            <span>
              <Name value={entry.tool_name} /> in turn {entry.turn + 1} would be{' '}
              {entry.decision === 'block' ? 'blocked' : 'allowed'}
              {entry.reasons.length === 0 ? '' : `: ${entry.reasons.map(words).join(', ')}`}
              {entry.remedy === null ? null : (
                <span className="cell-note">
                  <Text value={entry.remedy} />
                </span>
              )}
            </span>
          </li>
        ))}
      </ul>
    </>
  )
}
