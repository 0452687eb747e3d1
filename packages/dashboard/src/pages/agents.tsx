import type { AgentRow, UnnamedAgents } from '@countersign/protocol'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useApi } from '../api/use-api.js'
import { Badge } from '../components/basic/badge.js'
import { Bar } from '../components/basic/bar.js'
import { Text } from '../components/basic/text.js'
import { Ago } from '../components/basic/time.js'
import { FirstSteps } from '../components/layout/first-steps.js'
import { Freshness, Page } from '../components/layout/page.js'
import { Loaded } from '../components/layout/states.js'
import { count, countOrMore, percent, plural } from '../text/format.js'
import { since } from './sessions/time-bounds.js'

export function AgentsPage() {
  const agents = useApi('listAgents', {}, { pollMs: 10_000 })
  return (
    <Page
      title="Agents"
      lead="How many calls of each agent are covered by a contract, and which plan governs it in which environment."
      actions={<Freshness reading={agents} />}
    >
      <Loaded reading={agents} rows={4}>
        {(data) =>
          data.agents.length === 0 && data.unnamed === null ? (
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
                {data.unnamed === null ? null : <UnnamedCard unnamed={data.unnamed} />}
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
      <CardHeader title={<Text value={agent.agent} />} activity={agent} />
      <p className="agent-coverage">
        <span className="tile-value">{coverage.value}</span>
        <span className="quiet"> {coverage.words}</span>
      </p>
      <Bar value={coverage.share} max={1} tone="allow" />
      <dl className="agent-calls">
        <div title="decided before they ran, in the last 30 days">
          <dt>enforced</dt>
          <dd className="number">
            <Link to="/calls" search={{ ...since(agent.since), agent: agent.agent }} data-count={enforced}>
              {count(enforced)}
            </Link>
          </dd>
        </div>
        <div title="recorded, but checked by no rule">
          <dt>observed</dt>
          <dd className="number">
            <Link to="/contracts" search={{ agent: agent.agent, calls: 'observed' }} data-sum={observed}>
              {count(observed)}
            </Link>
          </dd>
        </div>
        <div title="recorded, but checked by no rule: the tool has no approved contract">
          <dt>ungoverned</dt>
          <dd className="number">
            <Link to="/contracts" search={{ agent: agent.agent, calls: 'ungoverned' }} data-sum={ungoverned}>
              {count(ungoverned)}
            </Link>
          </dd>
        </div>
      </dl>
      <Health whose={{ agent: agent.agent }} activity={agent} />
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
          {plural(agent.sessions, 'session')} in 30 days
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

/** Sessions that were given no name: their calls are counted here, and what they teach under the default name. */
function UnnamedCard({ unnamed }: { unnamed: UnnamedAgents }) {
  const period = { ...since(unnamed.since), unnamed: '1' }
  return (
    <section className="panel agent">
      <CardHeader title="Without a name" activity={unnamed} />
      <p className="quiet">
        Sessions without the option <code>agent</code>. Their contracts are learned, and their plan is looked up, under
        the name <code>default</code>.
      </p>
      <dl className="agent-calls">
        <div title="decided before they ran, in the last 30 days">
          <dt>enforced</dt>
          <dd className="number">
            <Link to="/calls" search={period} data-count={unnamed.calls.enforced}>
              {count(unnamed.calls.enforced)}
            </Link>
          </dd>
        </div>
      </dl>
      <Health whose={{ unnamed: '1' }} activity={unnamed} />
      <p className="agent-links">
        <Link to="/sessions" search={period} data-count={unnamed.sessions}>
          {plural(unnamed.sessions, 'session')} in 30 days
        </Link>
      </p>
    </section>
  )
}

const CardHeader = ({ title, activity: { health, last_seen } }: { title: ReactNode; activity: UnnamedAgents }) => (
  <header className="panel-header">
    <h2>{title}</h2>
    <Badge tone={HEALTH[health.status].tone}>{HEALTH[health.status].word}</Badge>
    <span className="panel-aside">
      {last_seen === null ? 'never seen' : 'last seen '}
      {last_seen === null ? null : <Ago at={last_seen} />}
    </span>
  </header>
)

/** Coverage is measured on captured calls; decided ones that were not captured are still calls. */
function coverageWords({ coverage, calls }: AgentRow): { value: string; words: string; share: number } {
  const isSilent = calls.enforced + calls.observed === 0
  // What sessions without a name do is learned under the default name, and counted under none.
  if (coverage !== null && isSilent) {
    return { value: 'No calls', words: 'under this name in 30 days; its contracts come from other sessions', share: 0 }
  }
  if (coverage !== null)
    return { value: percent(coverage), words: 'of its captured calls have a contract', share: coverage }
  return isSilent
    ? { value: 'No calls', words: 'yet', share: 0 }
    : {
        value: count(calls.enforced),
        words: `${calls.enforced === 1 ? 'call' : 'calls'} decided; none was captured, so coverage is not known`,
        share: 0,
      }
}

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
function Health({ whose, activity }: { whose: Readonly<Record<string, string>>; activity: UnnamedAgents }) {
  const { calls, health, since: from } = activity
  const period = since(from)
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
