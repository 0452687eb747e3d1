import { type LedgerExport, ROUTES, type WorkflowLedgerExport } from '@countersign/protocol'
import { firstBrokenEvent, isMisfit } from '../report/broken-event.js'
import { Unreadable } from '../terminal/command.js'
import { askRoute, RefusedError, type Service } from './call-route.js'

interface Exports {
  exportEvents: LedgerExport
  exportWorkflowEvents: WorkflowLedgerExport
}

/** All pages up to the head that the first one showed: the ledger may go on while it is read. */
export async function fetchLedger<Name extends keyof Exports>(
  service: Service,
  route: Name,
  params: Record<string, string>,
): Promise<Exports[Name]> {
  const page = (after: number) => fetchPage(service, route, params, after)
  const first = await page(0)
  const events = [...first.events]
  for (let { next } = first; next !== null && next < first.head.seq; ) {
    const more = await page(next)
    events.push(...more.events)
    next = more.next === next ? null : more.next
  }
  return { ...first, events: events.filter(({ seq }) => seq <= first.head.seq), next: null }
}

/** What cannot be read is no verdict about the ledger, so it is told apart from one. */
async function fetchPage<Name extends keyof Exports>(
  service: Service,
  route: Name,
  params: Record<string, string>,
  after: number,
): Promise<Exports[Name]> {
  try {
    const query = { after: String(after), limit: '1000' }
    const page = await askRoute(service, route, { params, query })
    ROUTES[route].reply.parse(page)
    // As it came: in a copy that a schema makes, defaults are added and a key `__proto__` is lost, and hashes would tell.
    return page as Exports[Name]
  } catch (error) {
    if (error instanceof RefusedError) throw new Unreadable(`${error.message}${missing(error, route, params)}`)
    const broken = isMisfit(error) ? firstBrokenEvent(error, after) : null
    if (broken !== null) throw broken
    const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : ''
    throw new Unreadable(`${service.url} gives no ledger: ${error instanceof Error ? error.message : error}${cause}`)
  }
}

/** Who mixes the two kinds up, or takes the key of another tenant, is told that there is nothing. */
function missing({ status }: RefusedError, route: keyof Exports, params: Record<string, string>): string {
  if (status !== 404) return ''
  const other = "of this key's tenant; check the name and the key"
  return route === 'exportEvents'
    ? `: there is no session ${params.session_id} ${other}, and for a workflow add --workflow`
    : `: there is no workflow ${params.workflow_id} ${other}, and for a session leave --workflow out`
}
