import { randomUUID } from 'node:crypto'
import postgres from 'postgres'

export interface Floor {
  /** One cycle each: three durable commits of one statement. */
  workers: (() => Promise<void>)[]
  close(): Promise<void>
}

/** The cheapest durable turn: insert prepared; use it and insert pending; insert receipt and advance the session. */
export async function openFloor(url: string, sessions: number): Promise<Floor> {
  const sql = postgres(url, { max: sessions, onnotice: () => {} })
  await sql.unsafe(`
    create schema if not exists floor;
    create table if not exists floor.sessions (id text primary key, version int not null) with (fillfactor = 50);
    create table if not exists floor.prepared (id text primary key, session text not null, version int not null, used_at timestamptz);
    create table if not exists floor.pending (id text primary key, session text not null, tool text not null, hash text not null);
    create table if not exists floor.receipts (id text primary key, session text not null, outcome text not null, hash text not null);
  `)
  const workers = await Promise.all(
    Array.from({ length: sessions }, async () => {
      const session = randomUUID()
      await sql`insert into floor.sessions values (${session}, 0)`
      return async () => {
        const id = randomUUID()
        const hash = id.repeat(2)
        await sql`insert into floor.prepared values (${id}, ${session}, 0)`
        await sql`
          with used as (
            update floor.prepared set used_at = now() where id = ${id} and used_at is null returning session
          )
          insert into floor.pending select ${id}, session, 'tool', ${hash} from used`
        await sql`
          with received as (insert into floor.receipts values (${id}, ${session}, 'succeeded', ${hash}))
          update floor.sessions set version = version + 1 where id = ${session}`
      }
    }),
  )
  return { workers, close: () => sql.end() }
}
