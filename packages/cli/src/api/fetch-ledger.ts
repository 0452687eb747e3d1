import { type LedgerExport, ROUTES, type WorkflowLedgerExport } from '@countersign/protocol'
import { firstBrokenEvent, isSchemaError } from '../report/broken-event.js'
import { Unreadable } from '../terminal/command.js'
import { askRoute, RefusedError, type Service } from './call-route.js'

interface Exports {
  exportEvents: LedgerExport
  exportWorkflowEvents: WorkflowLedgerExport
}

/** All pages up to the head that the first one showed: the ledger may grow while it is read. */
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

/** A ledger that cannot be read is not the same as a broken one, so it throws another error. */
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
    // As it came: the schema's copy adds defaults and loses a key `__proto__`, which would break the hashes.
    return page as Exports[Name]
  } catch (error) {
    if (error instanceof RefusedError) throw new Unreadable(`${error.message}${hintFor404(error, route, params)}`)
    const broken = isSchemaError(error) ? firstBrokenEvent(error, after) : null
    if (broken !== null) throw broken
    const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : ''
    throw new Unreadable(
      `${service.url} did not return a ledger: ${error instanceof Error ? error.message : error}${cause}`,
    )
  }
}

/** A 404 also means that the id is of the other kind, or of another tenant than the key. Of what was archived it says enough. */
function hintFor404(
  { status, isArchived }: RefusedError,
  route: keyof Exports,
  params: Record<string, string>,
): string {
  if (status !== 404 || isArchived) return ''
  return route === 'exportEvents'
    ? `. This tenant has no session ${params.session_id}; for a workflow, add --workflow`
    : `. This tenant has no workflow ${params.workflow_id}; for a session, leave out --workflow`
}
