import type { AgentRow } from '@countersign/protocol'
import { Link } from '@tanstack/react-router'
import { useApi } from '../api/use-api.js'
import { Badge } from '../components/basic/badge.js'
import { Bar } from '../components/basic/bar.js'
import { Text } from '../components/basic/text.js'
import { Ago } from '../components/basic/time.js'
import { FirstSteps } from '../components/layout/first-steps.js'
import { Learning } from '../components/layout/learning.js'
import { Freshness, Page } from '../components/layout/page.js'
import { Loaded } from '../components/layout/states.js'
import { COVERED, count, countOrMore, percent, plural } from '../text/format.js'
import { since } from './sessions/time-bounds.js'

export function AgentsPage() {
  const agents = useApi('listAgents', {}, { pollMs: 10_000 })
  return (
    <Page
      title="Agents"
      lead="How many calls of each agent are covered by a contract in force, and which plan governs it in which environment."
      actions={<Freshness reading={agents} />}
    >
      <Loaded reading={agents} rows={4}>
        {(data) =>
          data.agents.length === 0 ? (
            <FirstSteps />
          ) : (
            <>
              {data.total > data.agents.length ? (
                <p className="quiet">
                  {count(data.agents.length)} of {plural(data.total, 'agent')}, those seen last.
                </p>
              ) : null}
              <div className="cards">
                {data.agents.map((agent) => (
                  <AgentCard key={agent.agent} agent={agent} />
                ))}
              </div>
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

function AgentCard({ agent }: { agent: AgentRow }) {
  const { enforced, observed, ungoverned } = agent.calls
  const coverage = coverageWords(agent)
  return (
    <section className="panel agent">
      <header className="panel-header">
        <h2>
          <Text value={agent.agent} />
        </h2>
        <Badge tone={HEALTH[agent.health.status].tone}>{HEALTH[agent.health.status].word}</Badge>
        <span className="panel-aside">
          {agent.last_seen === null ? 'no call on record' : 'last seen '}
          {agent.last_seen === null ? null : <Ago at={agent.last_seen} />}
        </span>
      </header>
      {agent.agent === UNNAMED_AGENT ? (
        <p className="quiet">
          Sessions without the option <code>agent</code> have this name.
        </p>
      ) : null}
      <p className="agent-coverage">
        <span className="tile-value">{coverage.value}</span>
        <span className="quiet"> {coverage.words}</span>
      </p>
      <Bar value={coverage.share} max={1} tone="allow" />
      <dl className="agent-calls">
        <div title="decided before they ran, in the last 30 days">
          <dt>decided</dt>
          <dd className="number">
            <Link to="/calls" search={{ ...since(agent.since), agent: agent.agent }} data-count={enforced}>
              {count(enforced)}
            </Link>
          </dd>
        </div>
        <div title="recorded since the agent is known, but checked by no rule">
          <dt>observed</dt>
          <dd className="number">
            <Link to="/contracts" search={{ agent: agent.agent, calls: 'observed' }} data-sum={observed}>
              {count(observed)}
            </Link>
          </dd>
        </div>
        <div title="recorded since the agent is known, but checked by no rule: the tool has no approved contract">
          <dt>ungoverned</dt>
          <dd className="number">
            <Link to="/contracts" search={{ agent: agent.agent, calls: 'ungoverned' }} data-sum={ungoverned}>
              {count(ungoverned)}
            </Link>
          </dd>
        </div>
      </dl>
      <Health agent={agent} />
      <Learning agent={agent} />
      <SetAside agent={agent} />
      <ul className="agent-environments">
        {agent.environments.map((entry) => (
          <li key={entry.environment}>
            <span>{entry.environment}</span>
            <span className="quiet">{entry.approved_at === null ? '' : <Ago at={entry.approved_at} />}</span>
            {entry.status === 'approved' ? (
              <Badge tone="allow">plan approved</Badge>
            ) : entry.status === 'draft' ? (
              <Badge tone="warn">draft waiting</Badge>
            ) : (
              <Badge>no plan</Badge>
            )}
          </li>
        ))}
      </ul>
      <p className="agent-links">
        <Link to="/sessions" search={{ ...since(agent.since), agent: agent.agent }} data-count={agent.sessions}>
          {plural(agent.sessions, 'governed session')} in 30 days
        </Link>
        <Link to="/contracts" search={{ agent: agent.agent }}>
          Contracts
        </Link>
        <Link to="/plans" search={{ agent: agent.agent }}>
          Plans
        </Link>
      </p>
    </section>
  )
}

/** Coverage counts calls that were decided and calls that were only captured; learned ones are counted when they are learned. */
const coverageWords = ({ coverage }: AgentRow): { value: string; words: string; share: number } =>
  coverage === null
    ? { value: 'No calls', words: 'in 30 days', share: 0 }
    : { value: percent(coverage), words: `of its calls in 30 days ${COVERED}`, share: coverage }

/** As the service names the agent of sessions that name none. */
const UNNAMED_AGENT = 'default'

const HEALTH = {
  healthy: { tone: 'allow', word: 'healthy' },
  degraded: { tone: 'warn', word: 'needs attention' },
  inactive: { tone: 'neutral', word: 'inactive' },
} as const

/** Captures that teach nothing, because learning from them failed. */
function SetAside({ agent: { set_aside } }: { agent: AgentRow }) {
  if (set_aside.captures === 0) return null
  return (
    <p className="note" role="status">
      {plural(set_aside.captures, 'capture')} set aside: learning failed three times (
      <Text value={set_aside.reason ?? 'unknown'} />
      ). {set_aside.captures === 1 ? 'It is' : 'They are'} stored, but what was learned of this agent does not include{' '}
      {set_aside.captures === 1 ? 'it' : 'them'}. An operator can try again with <code>countersign set-aside</code>.
    </p>
  )
}

/** Problems of the last 30 days, each with a link to its sessions. */
function Health({ agent: { agent, calls, health, since: from } }: { agent: AgentRow }) {
  const period = since(from)
  const whose = { agent }
  const troubles = [
    { status: 'RECOVERING', sessions: health.recovering, words: 'with calls in doubt' },
    { status: 'COMPROMISED', sessions: health.compromised, words: 'compromised' },
    { status: 'KILLED', sessions: health.killed, words: 'killed' },
  ].filter(({ sessions }) => sessions > 0)
  return (
    <p className="agent-health">
      {calls.enforced === 0 ? (
        'No calls decided'
      ) : (
        <Link to="/calls" search={{ ...period, ...whose, decision: 'block' }} data-count={health.blocked_calls}>
          {plural(health.blocked_calls, 'call')} blocked, {percent(health.blocked_calls / calls.enforced)} of those
          decided
        </Link>
      )}
      {health.unanswered_calls === 0 && health.unanswered_more !== true ? null : (
        <Link to="/calls" search={{ ...whose, decision: 'unanswered' }} data-count={health.unanswered_calls}>
          {countOrMore(health.unanswered_calls, health.unanswered_more)}{' '}
          {health.unanswered_calls === 1 && health.unanswered_more !== true ? 'call' : 'calls'} unanswered
        </Link>
      )}
      {troubles.map(({ status, sessions, words }) => (
        <Link key={status} to="/sessions" search={{ ...period, ...whose, status }} data-count={sessions}>
          {plural(sessions, 'session')} {words}
        </Link>
      ))}
    </p>
  )
}
