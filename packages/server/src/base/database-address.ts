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

/** The same URL for the first of its hosts alone, as a parser for one host can read it. */
export const forOneHost = (url: string): string =>
  url.replace(HOSTS, (_, start: string, hosts: string) => start + (hosts.split(',')[0] ?? ''))

/** Several hosts, or a wish to be connected to one that takes writes: then it must be found out which one does. */
export function needsPrimary(url: string): boolean {
  return hostTexts(url).length > 1 || sessionAttributes(url) !== null
}

export const sessionAttributes = (url: string): string | null => parameter(url, 'target_session_attrs')

export const tlsMode = (url: string): string | null => parameter(url, 'sslmode')

const parameter = (url: string, name: string): string | null => new RegExp(`[?&]${name}=([^&]*)`).exec(url)?.[1] ?? null

const hostTexts = (url: string): string[] => (HOSTS.exec(url)?.[2] ?? '').split(',')
