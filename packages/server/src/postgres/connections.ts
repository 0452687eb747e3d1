import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { DatabaseHost } from '../base/database-address.js'
import { asOutage, closesConnection, databaseTrouble, isOutdatedStatement } from './database-error.js'
import { DatabaseBusy, DatabaseUnreachable } from './gave-up.js'
import type { Hosts } from './hosts.js'
import { CONNECT_TIMEOUT_MS, type Opening } from './opening.js'
import { named, renewName } from './statement-names.js'
import { toRows, type Value } from './values.js'

/** One connection, for one piece of work at a time. */
export interface Connection {
  /** `answerMs`: after that the answer is given up; 0 for never. */
  ask(text: string, values: Value[], answerMs: number): Promise<object[]>
  giveBack(): void
}

/** A pool of connections to the host that takes writes. */
export interface Connections {
  take(): Promise<Connection>
  isHeard(): boolean
  end(timeoutSeconds: number): Promise<void>
}

interface Held {
  readonly pool: pg.Pool
  readonly host: DatabaseHost
  /** Connections that stand, and since when. */
  readonly since: Map<pg.PoolClient, number>
  answers: number
}

const NO_TURN = 'timeout exceeded when trying to connect'
const NO_ANSWER = 'Query read timeout'

export function createConnections(opening: Opening, max: number, hosts: Hosts): Connections {
  let held: Held | null = null
  /** Connections that are older may lead into a network that swallows everything. */
  let suspectBefore = 0
  let isEnded = false

  const poolTo = (host: DatabaseHost): Held => {
    if (held !== null && held.host === host) return held
    leave()
    const config = opening.config(host)
    // The connection that was used last is used next, and one that is not needed is never opened.
    const pool = new pg.Pool({ ...config, max, idleTimeoutMillis: 0 })
    const since = new Map<pg.PoolClient, number>()
    // The user of a connection is told when it breaks; one that is idle has left the pool.
    pool.on('error', () => {})
    pool.on('connect', (client) => {
      client.on('error', () => {})
      since.set(client, performance.now())
    })
    pool.on('remove', (client) => since.delete(client))
    held = { pool, host, since, answers: 0 }
    return held
  }

  /** Breaks all connections. The next ones are made anew. */
  const leave = () => {
    for (const client of held?.since.keys() ?? []) client.connection.stream.destroy()
    held = null
  }

  const drop = (client: pg.PoolClient, { since }: Held) => {
    since.delete(client)
    client.release(true)
    // What the other side may never hear does not need to be ended in its presence.
    client.connection.stream.destroy()
  }

  const connection = (client: pg.PoolClient, of: Held): Connection => {
    let isBroken = false
    return {
      ask: async (text, values, answerMs) => {
        try {
          const name = values.length === 0 || opening.isPooled() ? {} : named(text)
          const asked = { text, ...name, values, rowMode: 'array' as const, query_timeout: answerMs }
          const answer: pg.QueryArrayResult | pg.QueryArrayResult[] = await client.query(asked)
          of.answers += 1
          return toRows(Array.isArray(answer) ? (answer.at(-1) as pg.QueryArrayResult) : answer)
        } catch (error) {
          if (isOutdatedStatement(error)) renewName(text)
          if (error instanceof Error && error.message === NO_ANSWER) suspectBefore = performance.now()
          const trouble = asOutage(error)
          isBroken ||= databaseTrouble(trouble) === 'unavailable' || closesConnection(trouble)
          throw trouble
        }
      },
      giveBack: () => (isBroken ? drop(client, of) : client.release()),
    }
  }

  const take = async (): Promise<Connection> => {
    for (;;) {
      if (isEnded) throw new DatabaseUnreachable('the connections to PostgreSQL are closed')
      const from = poolTo(await hosts.choose())
      try {
        const client = await from.pool.connect()
        if (from === held && (from.since.get(client) ?? 0) >= suspectBefore) return connection(client, from)
        drop(client, from)
      } catch (error) {
        if (from !== held) continue
        if (!opening.learnFrom(error))
          throw isHeard() && isNoTurn(error) ? new DatabaseBusy(CONNECT_TIMEOUT_MS) : asOutage(error)
        leave()
      }
    }
  }

  const isHeard = () => held !== null && held.since.size > 0

  const pool = {
    inUse: isHeard,
    answersOf: (host: DatabaseHost) => (held?.host === host ? held.answers : 0),
    changed: (primary: DatabaseHost | null) => {
      if (held?.host !== primary) leave()
    },
  }
  hosts.pools.add(pool)

  return {
    take,
    isHeard,
    end: async (timeoutSeconds) => {
      isEnded = true
      hosts.pools.delete(pool)
      if (held !== null) await Promise.race([ended(held), sleep(timeoutSeconds * 1_000, undefined, { ref: false })])
      leave()
    },
  }
}

async function ended({ pool, since }: Held): Promise<void> {
  await pool.end()
  await Promise.all([...since.keys()].map((client) => once(client, 'end')))
}

const isNoTurn = (error: unknown): boolean => error instanceof Error && error.message === NO_TURN
