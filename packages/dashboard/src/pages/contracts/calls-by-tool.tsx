import type { ContractRow } from '@countersign/protocol'
import { Link } from '@tanstack/react-router'
import { Name, Text } from '../../components/basic/text.js'
import { Panel } from '../../components/layout/page.js'
import { count } from '../../text/format.js'

interface CallsByToolProps {
  readonly rows: readonly ContractRow[]
  readonly calls: 'observed' | 'ungoverned'
}

/** Of which tools the calls are that an agent's card counts. Captures expire, what was counted of them does not. */
export function CallsByTool({ rows, calls }: CallsByToolProps) {
  const counted = rows.filter(({ unjudged, approved }) => unjudged > 0 && !(calls === 'ungoverned' && approved))
  return (
    <Panel title={calls === 'observed' ? 'Observed calls by tool' : 'Ungoverned calls by tool'}>
      {counted.length === 0 ? (
        <p className="quiet">Every recorded call was checked by a rule.</p>
      ) : (
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Tool</th>
              <th scope="col">Agent</th>
              <th scope="col" className="right">
                Calls
              </th>
            </tr>
          </thead>
          <tbody>
            {counted.map((row) => (
              <tr key={`${row.agent} ${row.tool_name}`}>
                <th scope="row">
                  <Link to="/captures" search={{ agent: row.agent, tool: row.tool_name }}>
                    <Name value={row.tool_name} />
                  </Link>
                </th>
                <td>
                  <Text value={row.agent} />
                </td>
                <td className="right number" data-value={row.unjudged}>
                  {count(row.unjudged)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  )
}
