import pg from 'pg'
import type { DatabaseHost } from '../base/database-address.js'
import { createOpening } from './opening.js'

/** What a PostgreSQL says of itself. */
export interface Standing {
  readonly isWritable: boolean
  /** Grows by each promotion, so that of two that take writes the one with the higher number is right. */
  readonly timeline: number
}

export interface HostProbe {
  /** Throws if it cannot be reached, refuses, or says nothing for `ASK_MS`. */
  ask(): Promise<Standing>
  close(): void
}

/** More than a healthy PostgreSQL takes to accept a connection and to answer, on a busy machine. */
const ASK_MS = 2_000

const STANDING = `
  select pg_is_in_recovery() as standby, current_setting('transaction_read_only') = 'off' as writable,
    case when pg_is_in_recovery() then 0
      else ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int end as timeline`

/** Asks one host how it stands, over a connection of its own that is kept from one question to the next. */
export function createHostProbe(url: string, host: DatabaseHost): HostProbe {
  const opening = createOpening(url, {})
  let client: pg.Client | null = null

  const open = async (): Promise<pg.Client> => {
    client = new pg.Client({
      ...opening.config(host),
      application_name: 'countersign-watch',
      connectionTimeoutMillis: ASK_MS,
      query_timeout: ASK_MS,
    })
    // The question that it breaks is told.
    client.on('error', () => {})
    await client.connect()
    return client
  }

  const close = () => {
    client?.connection.stream.destroy()
    client = null
  }

  return {
    ask: async () => {
      try {
        const { rows } = await (client ?? (await open())).query(STANDING)
        const { standby, writable, timeline } = rows[0] as { standby: boolean; writable: boolean; timeline: number }
        // Read-only may be a setting that this connection got when it was made, and that has changed since.
        if (!standby && !writable) close()
        return { isWritable: writable && !standby, timeline }
      } catch (error) {
        opening.learnFrom(error)
        close()
        throw error
      }
    },
    close,
  }
}
