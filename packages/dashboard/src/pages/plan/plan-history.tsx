import { useApi } from '../../api/use-api.js'
import { useMay } from '../../api/use-may.js'
import { Text } from '../../components/basic/text.js'
import { Ago } from '../../components/basic/time.js'
import { Panel } from '../../components/layout/page.js'
import { ACTIONS } from '../audit.js'

/** Who made, edited, tried and decided this plan. For those who may read the audit trail. */
export function PlanHistory({ planId }: { planId: string }) {
  const { data } = useApi(
    'listAudit',
    { query: { subject: planId } },
    { enabled: useMay()('listAudit'), pollMs: 10_000 },
  )
  if (data === undefined || data.items.length === 0) return null
  return (
    <Panel title="History">
      <ul className="rows">
        {data.items.map((entry) => (
          <li key={entry.audit_id} className="act">
            <span>{ACTIONS[entry.action]}</span>
            <Text value={entry.actor ?? (entry.key === null ? 'a program' : `the key ${entry.key.name}`)} />
            <span className="quiet">{entry.detail === null ? '' : <Text value={entry.detail} />}</span>
            <Ago at={entry.at} />
          </li>
        ))}
      </ul>
    </Panel>
  )
}
