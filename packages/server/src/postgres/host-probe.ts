import { connect, type Socket } from 'node:net'
import postgres from 'postgres'
import { type DatabaseHost, forOneHost } from '../base/database-address.js'

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
export function createHostProbe(url: string, { host, port }: DatabaseHost): HostProbe {
  let sql: postgres.Sql | null = null
  let socket: Socket | null = null

  const open = () =>
    postgres(forOneHost(url), {
      max: 1,
      connect_timeout: ASK_MS / 1_000,
      connection: { application_name: 'countersign-watch' },
      fetch_types: false,
      onnotice: () => {},
      ...({
        socket: () => {
          socket = Object.assign(connect(port, host), { host })
          return socket
        },
      } as object),
    })

  const close = () => {
    void sql?.end({ timeout: 0 }).catch(() => {})
    socket?.destroy()
    sql = null
    socket = null
  }

  return {
    ask: async () => {
      sql ??= open()
      const answer = sql.unsafe<{ standby: boolean; writable: boolean; timeline: number }[]>(STANDING)
      answer.catch(() => {})
      let timer: NodeJS.Timeout | undefined
      const silence = new Promise<never>((_, fail) => {
        timer = setTimeout(() => fail(new Error(`no answer within ${ASK_MS} ms`)), ASK_MS)
      })
      try {
        const [row] = await Promise.race([answer, silence])
        if (row === undefined) throw new Error('it answered nothing')
        // Read-only may be a setting that this connection got when it was made, and that has changed since.
        if (!row.standby && !row.writable) close()
        return { isWritable: row.writable && !row.standby, timeline: row.timeline }
      } catch (error) {
        // A client of the driver whose connection broke may never send again (decision 0004).
        close()
        throw error
      } finally {
        clearTimeout(timer)
      }
    },
    close,
  }
}
