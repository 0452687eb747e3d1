import type { AuditEntry, TimelineItem } from '@countersign/protocol'
import { useApi } from '../../api/use-api.js'
import { useMay } from '../../api/use-may.js'

/** What people and programs did to a session, and to its workflow, as the audit trail has it; for those who may read it. */
export function useActs(sessionId: string, workflowId: string | null): readonly AuditEntry[] {
  const isReader = useMay()('listAudit')
  const own = useApi('listAudit', { query: { subject: sessionId } }, { enabled: isReader, pollMs: 5_000 })
  const shared = useApi(
    'listAudit',
    { query: { subject: workflowId ?? '' } },
    { enabled: isReader && workflowId !== null, pollMs: 10_000 },
  )
  return [...(own.data?.items ?? []), ...(shared.data?.items ?? [])]
}

/** The entry behind an event of the ledger, which says who it was and why; null where the trail has none. */
export function actBehind(
  { type, body }: Pick<TimelineItem, 'type' | 'body'>,
  acts: readonly AuditEntry[],
): AuditEntry | null {
  const found = acts.find(({ action, detail }) => {
    if (type === 'label') return action === 'label_added' && detail === body.label
    if (type !== 'killed') return false
    return action === (body.by === 'workflow' ? 'workflow_killed' : 'session_killed')
  })
  return found ?? null
}
