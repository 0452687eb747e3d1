import type { WorkflowRow } from '@countersign/protocol'
import { Link, useSearch } from '@tanstack/react-router'
import { useApi } from '../api/use-api.js'
import { StatusBadge } from '../components/basic/badge.js'
import { CodeBlock } from '../components/basic/code-block.js'
import { Name } from '../components/basic/text.js'
import { Ago } from '../components/basic/time.js'
import { Freshness, Page } from '../components/layout/page.js'
import { Pager } from '../components/layout/pager.js'
import { Empty, Loaded } from '../components/layout/states.js'
import { count } from '../text/format.js'
import { workflowSnippet } from '../text/snippets.js'

export function WorkflowsPage() {
  const search = useSearch({ from: '/signed-in/workflows' })
  const workflows = useApi('listWorkflows', { query: { cursor: search.cursor } }, { pollMs: 8_000, keepLast: true })
  const disabled = workflows.error?.code === 'WORKFLOWS_DISABLED'
  return (
    <Page
      title="Workflows"
      lead="Sessions that work on one task together, hand it over to each other and share resources."
      actions={disabled ? undefined : <Freshness reading={workflows} />}
    >
      {disabled ? (
        <Empty title="Workflows are disabled">
          <p>The operator of this server can enable them:</p>
          <CodeBlock title="Server environment" code="COUNTERSIGN_WORKFLOWS=on" />
        </Empty>
      ) : (
        <Loaded reading={workflows} rows={5}>
          {({ items, next }) =>
            items.length === 0 ? (
              <Empty title="No workflows yet">
                <p>A session with the workflow option opens one; others join it by its id.</p>
                <CodeBlock title="In your agent" code={workflowSnippet} />
              </Empty>
            ) : (
              <>
                <WorkflowsTable rows={items} />
                <Pager to="/workflows" search={search} what="workflows" next={next} />
              </>
            )
          }
        </Loaded>
      )}
    </Page>
  )
}

const WorkflowsTable = ({ rows }: { rows: readonly WorkflowRow[] }) => (
  <table className="table table-cards">
    <thead>
      <tr>
        <th scope="col">Workflow</th>
        <th scope="col">State</th>
        <th scope="col" className="right">
          Sessions
        </th>
        <th scope="col" className="right">
          Open handoffs
        </th>
        <th scope="col" className="right">
          Opened
        </th>
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <tr key={row.workflow_id}>
          <th scope="row" className="cell-main">
            <Link to="/workflows/$workflowId" params={{ workflowId: row.workflow_id }}>
              <Name value={row.workflow_id} />
            </Link>
          </th>
          <td data-label="State">
            <StatusBadge status={row.status} activity={row.activity} />
          </td>
          <td data-label="Sessions" className="right number">
            <Link to="/sessions" search={{ workflow: row.workflow_id }} data-count={row.sessions}>
              {count(row.sessions)}
            </Link>
          </td>
          <td data-label="Open handoffs" className="right number">
            <Link
              to="/workflows/$workflowId"
              params={{ workflowId: row.workflow_id }}
              search={{ handoffs: 'open' }}
              data-count={row.open_handoffs}
              data-of="parts"
            >
              {count(row.open_handoffs)}
            </Link>
          </td>
          <td data-label="Opened" className="right nowrap">
            <Ago at={row.created_at} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)
