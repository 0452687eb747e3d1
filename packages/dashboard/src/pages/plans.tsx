import type { PlanRow } from '@countersign/protocol'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useApi } from '../api/use-api.js'
import { Badge, type Tone } from '../components/basic/badge.js'
import { CodeBlock } from '../components/basic/code-block.js'
import { Hash } from '../components/basic/hash.js'
import { Text } from '../components/basic/text.js'
import { Ago } from '../components/basic/time.js'
import { Select } from '../components/form/field.js'
import { Freshness, Page } from '../components/layout/page.js'
import { Pager } from '../components/layout/pager.js'
import { Empty, Loaded } from '../components/layout/states.js'
import { plural } from '../text/format.js'
import { submitSnippet } from '../text/snippets.js'
import { plainText } from '../text/visible-text.js'

export const PLAN_TONES: Record<PlanRow['state'], Tone> = {
  draft: 'warn',
  approved: 'allow',
  superseded: 'neutral',
  rejected: 'block',
}
const STATES = ['draft', 'approved', 'superseded', 'rejected'].map((value) => ({ value, label: value }))
const ENVIRONMENTS = ['development', 'staging', 'production'].map((value) => ({ value, label: value }))
const ANY = { value: '', label: 'Any' }

export function PlansPage() {
  const search = useSearch({ from: '/signed-in/plans' })
  const navigate = useNavigate()
  const { agent, cursor } = search
  const query = {
    agent,
    cursor,
    environment: search.environment as PlanRow['environment'] | undefined,
    state: search.state as PlanRow['state'] | undefined,
  }
  const plans = useApi('listPlans', { query }, { pollMs: 10_000, keepLast: true })
  const agents = useApi('listAgents', {})
  const set = (name: string, value: string) =>
    void navigate({ to: '/plans', search: { ...search, [name]: value, cursor: '' } })
  const names = agents.data?.agents.map((entry) => ({ value: entry.agent, label: plainText(entry.agent) })) ?? []
  return (
    <Page
      title="Plans"
      lead="A plan governs an agent in one environment. It is enforced from the moment a person approves it, exactly as approved."
      actions={<Freshness reading={plans} />}
    >
      <div className="filters">
        <Select label="Agent" value={agent ?? ''} options={[ANY, ...names]} onChange={(value) => set('agent', value)} />
        <Select
          label="Environment"
          value={search.environment ?? ''}
          options={[ANY, ...ENVIRONMENTS]}
          onChange={(value) => set('environment', value)}
        />
        <Select
          label="State"
          value={search.state ?? ''}
          options={[ANY, ...STATES]}
          onChange={(value) => set('state', value)}
        />
      </div>
      <Loaded reading={plans} rows={5}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Empty title="No plans yet">
              <p>
                Draft one from the <Link to="/contracts">learned contracts</Link> of an agent, or submit the contract
                pack from your repository. It then waits here for approval.
              </p>
              <CodeBlock title="Terminal, in the Countersign folder" code={submitSnippet()} />
            </Empty>
          ) : (
            <>
              <PlansTable rows={items} />
              <Pager to="/plans" search={search} what="plans" next={next} />
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

const PlansTable = ({ rows }: { rows: readonly PlanRow[] }) => (
  <table className="table table-cards">
    <thead>
      <tr>
        <th scope="col">Plan</th>
        <th scope="col">State</th>
        <th scope="col">Source</th>
        <th scope="col">Decided</th>
        <th scope="col" className="right">
          Created
        </th>
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <tr key={row.plan_id}>
          <th scope="row" className="cell-main">
            <Link to="/plans/$planId" params={{ planId: row.plan_id }}>
              <Text value={row.agent} /> in {row.environment}
            </Link>
            <span className="cell-note">
              <Link to="/plans/$planId" params={{ planId: row.plan_id }} data-count={row.contracts} data-of="parts">
                {plural(row.contracts, 'contract')}
              </Link>{' '}
              <Hash label="" value={row.compiled_hash} />
            </span>
          </th>
          <td data-label="State">
            <Badge tone={PLAN_TONES[row.state]}>{row.state}</Badge>
          </td>
          <td data-label="Source">
            <span>
              {row.origin === 'learned' ? 'learned contracts' : 'a submitted pack'}
              {row.created_by === null ? null : (
                <span className="cell-note">
                  by <Text value={row.created_by} />
                </span>
              )}
            </span>
          </td>
          <td data-label="Decided">
            <span>
              {row.decided_at === null ? (
                <span className="quiet">waiting for approval</span>
              ) : (
                <Ago at={row.decided_at} />
              )}
              {row.decided_by === null ? null : (
                <span className="cell-note">
                  by <Text value={row.decided_by} />
                </span>
              )}
            </span>
          </td>
          <td data-label="Created" className="right nowrap">
            <Ago at={row.created_at} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)
