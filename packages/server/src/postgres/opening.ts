import type pg from 'pg'
import { type DatabaseHost, forOneHost, tlsMode } from '../base/database-address.js'
import { TYPES } from './values.js'

/** How a connection is opened. What refuses one may teach it to open the next otherwise. */
export interface Opening {
  readonly config: (host: DatabaseHost) => pg.ClientConfig
  /** True: the next connection is opened in another way, which may succeed. */
  learnFrom(error: unknown): boolean
  readonly isPooled: () => boolean
}

/** For a connection to be made, or to come free. */
export const CONNECT_TIMEOUT_MS = 10_000

/** What a connection is set to from its start, also where its role is set to something else. */
export type Settings = Readonly<Record<string, string | number>>

export function createOpening(url: string, settings: Settings, name?: string): Opening {
  const { username, password, pathname, searchParams } = new URL(forOneHost(url))
  const mode = tlsMode(url) ?? 'disable'
  const options = Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ')
  let isPooled = false
  let ssl = mode === 'disable' ? false : mode.startsWith('verify') || { rejectUnauthorized: false }
  return {
    config: ({ host, port }) => ({
      host: searchParams.get('host') ?? host,
      port,
      ...(username !== '' && { user: decodeURIComponent(username) }),
      ...(password !== '' && { password: decodeURIComponent(password) }),
      ...(pathname.length > 1 && { database: decodeURIComponent(pathname.slice(1)) }),
      ssl,
      types: TYPES,
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      application_name: name === undefined ? 'countersign' : `countersign ${name}`,
      ...(!isPooled && { options }),
    }),
    learnFrom: (error) => {
      const message = error instanceof Error ? error.message : ''
      // PgBouncer: a connection that others use as well has the settings of its role.
      if (!isPooled && message.includes('unsupported startup parameter')) {
        isPooled = true
        return true
      }
      if (mode === 'prefer' && ssl !== false && message.includes('does not support SSL')) {
        ssl = false
        return true
      }
      return false
    },
    isPooled: () => isPooled,
  }
}
