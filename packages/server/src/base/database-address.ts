/** One PostgreSQL of those that DATABASE_URL names. */
export interface DatabaseHost {
  readonly host: string
  readonly port: number
}

/** The part of a database URL between the user and the path: one host, or several with commas between them. */
const HOSTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)/
const DEFAULT_PORT = 5432

/** Those that a database URL names, in its order. Throws for one that cannot be read. */
export function hostsOf(url: string): DatabaseHost[] {
  return hostTexts(url).map((text) => {
    const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*))(?::([0-9]{1,5}))?$/.exec(text) ?? []
    const host = bracketed ?? plain
    if (host === undefined || (host === '' && hostTexts(url).length > 1))
      throw new Error('must name each host as host:port, with a comma between two hosts')
    return { host: decodeURIComponent(host), port: Number(port ?? DEFAULT_PORT) }
  })
}

/** Read here, and never by the driver. */
const OWN_PARAMETERS = ['target_session_attrs', 'pgbouncer'] as const

/** The same URL for the first of its hosts alone, as a parser for one host can read it. */
export function forOneHost(url: string): string {
  const first = url.replace(HOSTS, (_, start: string, hosts: string) => start + (hosts.split(',')[0] ?? ''))
  return OWN_PARAMETERS.reduce(
    (left, name) =>
      left.replace(new RegExp(`([?&])${name}=[^&]*(&|$)`), (_, before: string, after: string) =>
        after === '' ? '' : before,
      ),
    first,
  )
}

/** Several hosts, or a wish to be connected to one that takes writes: then it must be found out which one does. */
export function needsPrimary(url: string): boolean {
  return hostTexts(url).length > 1 || sessionAttributes(url) !== null
}

export const sessionAttributes = (url: string): string | null => parameter(url, 'target_session_attrs')

/**
 * Connections lead to a PgBouncer in transaction mode, where each transaction may be on another connection to PostgreSQL:
 * nothing can be prepared or set for longer (decision 0127).
 */
export const isPooled = (url: string): boolean => parameter(url, 'pgbouncer') === 'true'

export function parameter(url: string, name: (typeof OWN_PARAMETERS)[number]): string | null {
  return new RegExp(`[?&]${name}=([^&]*)`).exec(url)?.[1] ?? null
}

const hostTexts = (url: string): string[] => (HOSTS.exec(url)?.[2] ?? '').split(',')
