import type { AgentRow, ContractRow, Environment } from '@countersign/protocol'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi, useChange } from '../api/use-api.js'
import { Allowed } from '../components/basic/allowed.js'
import { Badge } from '../components/basic/badge.js'
import { Button } from '../components/basic/button.js'
import { CodeBlock } from '../components/basic/code-block.js'
import { Name, Text } from '../components/basic/text.js'
import { Ago } from '../components/basic/time.js'
import { Select } from '../components/form/field.js'
import { FormProblem } from '../components/form/form-problem.js'
import { Segments } from '../components/form/segments.js'
import { Learning } from '../components/layout/learning.js'
import { Freshness, Page } from '../components/layout/page.js'
import { Empty, Loaded } from '../components/layout/states.js'
import { COVERED, count, percent, plural } from '../text/format.js'
import { environmentSnippet, installSnippet, observeSnippet } from '../text/snippets.js'
import { plainText } from '../text/visible-text.js'
import { ChangedTools } from './changed-tools.js'
import { CallsByTool } from './contracts/calls-by-tool.js'

export function ContractsPage() {
  const { agent, calls } = useSearch({ from: '/signed-in/contracts' })
  const navigate = useNavigate()
  const contracts = useApi('listContracts', { query: { agent } }, { pollMs: 10_000, keepLast: true })
  const agents = useApi('listAgents', {})
  const names = agents.data?.agents.map((entry) => entry.agent) ?? []
  return (
    <Page
      title="Contracts"
      lead="What each tool may be called with, learned from captured calls. Nothing learned is enforced until you approve a plan."
      actions={<Freshness reading={contracts} />}
    >
      <div className="toolbar">
        <Select
          label="Agent"
          value={agent ?? ''}
          options={[
            { value: '', label: 'All agents' },
            ...names.map((name) => ({ value: name, label: plainText(name) })),
          ]}
          onChange={(value) => void navigate({ to: '/contracts', search: { agent: value } })}
        />
        {agent === undefined ? null : (
          <Allowed to="draftPlan" otherwise="An approver can draft a plan from these.">
            <DraftFrom agent={agent} />
          </Allowed>
        )}
        <Coverage agent={agents.data?.agents.find((entry) => entry.agent === agent)} any={names.length > 0} />
      </div>
      <ChangedTools />
      <Loaded reading={contracts} rows={5}>
        {(data) =>
          data.contracts.length === 0 ? (
            <Empty title="No contracts learned yet">
              <p>Observe an agent for a while: after ten calls of a tool, its contract has high confidence.</p>
              <CodeBlock title="Terminal" code={`${installSnippet}\n${environmentSnippet('csk_…')}`} />
              <CodeBlock title="In your agent" code={observeSnippet} />
            </Empty>
          ) : (
            <>
              {calls === 'observed' || calls === 'ungoverned' ? (
                <CallsByTool rows={data.contracts} calls={calls} />
              ) : null}
              {data.contracts.map((row) => (
                <ContractCard key={`${row.agent} ${row.tool_name}`} row={row} />
              ))}
              {data.more ? (
                <p className="quiet">
                  There are more contracts.{agent === undefined ? ' Choose an agent to see its own.' : ''}
                </p>
              ) : null}
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

/** The coverage of the chosen agent, or a hint to choose one. */
function Coverage({ agent, any }: { agent: AgentRow | undefined; any: boolean }) {
  if (agent === undefined)
    return any ? (
      <Allowed to="draftPlan">
        <p className="quiet">Choose an agent to draft a plan from its contracts.</p>
      </Allowed>
    ) : null
  return (
    <>
      {agent.coverage === null ? null : (
        <p className="quiet">
          <strong className="number">{percent(agent.coverage)}</strong> of its calls in 30 days {COVERED}: of an
          approved plan, or of the pack that its program brought.
        </p>
      )}
      <Learning agent={agent} />
    </>
  )
}

const ENVIRONMENTS = [
  { value: 'development', label: 'development' },
  { value: 'staging', label: 'staging' },
  { value: 'production', label: 'production' },
] as const

function DraftFrom({ agent }: { agent: string }) {
  const [environment, setEnvironment] = useState<Environment>('development')
  const navigate = useNavigate()
  const draft = useChange('draftPlan', ['listPlans', 'listAgents'])
  const make = () =>
    draft.mutate(
      { body: { agent, environment } },
      { onSuccess: ({ plan }) => void navigate({ to: '/plans/$planId', params: { planId: plan.plan_id } }) },
    )
  return (
    <>
      <Segments label="Environment of the draft" options={ENVIRONMENTS} value={environment} onChange={setEnvironment} />
      <Button kind="primary" busy={draft.isPending} onClick={make}>
        Draft a plan
      </Button>
      <FormProblem problem={draft.error} />
    </>
  )
}

/** More conversations than these are not counted one by one. */
const ESTIMATED_FROM = 64

const CONFIDENCE = { low: 'warn', medium: 'accent', high: 'allow' } as const

function ContractCard({ row }: { row: ContractRow }) {
  const [view, setView] = useState<'words' | 'yaml'>('words')
  return (
    <section className="panel contract">
      <header className="panel-header">
        <h2>
          <Name value={row.tool_name} />
        </h2>
        <Segments label={`Show ${plainText(row.tool_name)} as`} options={VIEWS} value={view} onChange={setView} />
      </header>
      <p className="contract-facts">
        <Link to="/contracts" search={{ agent: row.agent }}>
          <Text value={row.agent} />
        </Link>
        <Badge tone={CONFIDENCE[row.confidence]}>{row.confidence} confidence</Badge>
        <Badge tone={row.approved ? 'allow' : 'neutral'}>
          {row.approved ? 'in an approved plan' : 'in no approved plan'}
        </Badge>
        {row.source === 'customer' ? <Badge tone="accent">edited by a person</Badge> : null}
        <span className="quiet">
          learned from {count(row.samples)} of{' '}
          <Link to="/captures" search={{ agent: row.agent, tool: row.tool_name }}>
            {plural(row.calls, 'captured call')}
          </Link>
          , in {row.sessions < ESTIMATED_FROM ? '' : 'about '}
          {plural(row.sessions, 'conversation')}, updated <Ago at={row.updated_at} />
        </span>
      </p>
      <dl className="contract-figures">
        <div>
          <dt>Passing calls</dt>
          <dd>{row.pass_rate === null ? 'unknown' : percent(row.pass_rate)}</dd>
        </div>
        <div title="With 95% confidence, at most this share of future sessions that use the tool would be blocked by mistake">
          <dt>False blocks, at most</dt>
          <dd>{row.false_block_bound === null ? 'unknown' : percent(row.false_block_bound)}</dd>
        </div>
      </dl>
      {row.drift.length === 0 ? null : (
        <div className="drift">
          <strong>Changed recently</strong>
          <Lines lines={row.drift} />
        </div>
      )}
      {view === 'words' ? (
        <>
          <Lines lines={row.words} className="rules" />
          {row.notes.length === 0 ? null : (
            <>
              <h3 className="contract-notes">Notes</h3>
              <Lines lines={row.notes} className="remarks remarks-warn" />
            </>
          )}
        </>
      ) : (
        <CodeBlock title={`${plainText(row.tool_name)}.yaml`} code={row.yaml} />
      )}
    </section>
  )
}

const Lines = ({ lines, className }: { lines: readonly string[]; className?: string }) => (
  <ul className={className}>
    {lines.map((line) => (
      <li key={line}>
        <Text value={line} />
      </li>
    ))}
  </ul>
)

const VIEWS = [
  { value: 'words', label: 'Text' },
  { value: 'yaml', label: 'YAML' },
] as const
