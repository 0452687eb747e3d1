import type { Fragment, Queryable } from '../postgres/sql.js'

interface Look {
  readonly why: string
  /** Without it the statement only reads. */
  readonly writes?: true
}

/**
 * The statements that look beyond one tenant, and why they must. Every other statement compares each table with the tenant
 * it is for. A job finds here who has something to do, and changes it tenant by tenant.
 */
const ACROSS_TENANTS = {
  'all tenants': { why: 'the operator lists them' },
  'contradicted ledgers': { why: 'a metric' },
  'cost of passwords': { why: 'a start must know the highest' },
  counts: { why: 'what was decided in a period is counted, each row from rows of its own tenant', writes: true },
  'decided lately': { why: 'how far a piece of counting goes, and which sessions went on in it' },
  'due mail': { why: 'the next mails' },
  'due notices': { why: 'the next notices of questions' },
  'due webhooks': { why: 'the webhooks with messages that are due' },
  'idle buckets': { why: 'full buckets are worth nothing, and most are of no tenant', writes: true },
  'lapsed offers': { why: 'the next handoffs that were not taken' },
  'lapsed questions': { why: 'the next questions whose time has passed' },
  'ledgers in turn': { why: 'the ledgers that are looked at next' },
  'moved ledgers': { why: 'sessions with events that are newer than what was signed' },
  'old rows': { why: 'records past their retention' },
  'outdated secrets': { why: 'the webhooks whose secrets are encrypted under a former key' },
  'rates to watch': { why: 'the plans whose rates are looked at next' },
  'set aside': { why: 'work that failed too often, for the operator and a metric' },
  'undelivered questions': { why: 'a metric' },
  'unlearned captures': { why: 'the next tenant with captures to learn from' },
  'unused plans': { why: 'the plans that were not used for longest' },
  'waiting runs': { why: 'the tenants whose backtests wait' },
} as const satisfies Record<string, Look>

/** How such a statement begins. Who looks at what PostgreSQL runs sees it, too. */
export const across = (sql: Queryable, what: keyof typeof ACROSS_TENANTS): Fragment =>
  sql.unsafe(`/* across tenants: ${what} */`)

export const acrossTenants: ReadonlyMap<string, Look> = new Map(Object.entries(ACROSS_TENANTS))
