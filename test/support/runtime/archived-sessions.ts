import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { readArchive } from '../../../packages/server/src/archives/archive-file.js'
import { checkArchive } from '../../../packages/server/src/archives/check-archive.js'
import type { Sql } from '../../../packages/server/src/postgres/sql.js'
import { ARCHIVED_TABLES } from '../../../packages/server/src/store/archives/archived-rows.js'

/** Every row of each session, as PostgreSQL writes it. */
export type SessionRows = ReadonlyMap<string, readonly string[]>

export async function rowsOfSessions(sql: Sql, ids: readonly string[]): Promise<SessionRows> {
  const rows = new Map<string, string[]>(ids.map((id) => [id, []]))
  // Notices are found by their question, and none of these sessions asks people.
  const others = ['workflows', 'workflow_events', 'handoffs', 'deliveries']
  for (const { name } of ARCHIVED_TABLES.filter(({ name }) => !others.includes(name))) {
    const column = name === 'signed_heads' ? 'id' : 'session_id'
    const found = await sql<{ id: string; row: string }[]>`
      select ${sql(column)} as id, to_json(t)::text as row from ${sql(name)} t where ${sql(column)} = any (${[...ids]}::text[])`
    for (const { id, row } of found) rows.get(id)?.push(`${name} ${row}`)
  }
  for (const list of rows.values()) list.sort()
  return rows
}

/**
 * Says of each session where it is, and insists that it is whole there: all its rows in the database, or all in the file that
 * the database names, which verifies. Neither both nor none.
 */
export async function whereSessionsAre(
  sql: Sql,
  before: SessionRows,
  folder: string,
): Promise<{ readonly stored: string[]; readonly archived: string[] }> {
  const ids = [...before.keys()]
  const now = await rowsOfSessions(sql, ids)
  const named = await sql<{ id: string; file: string; digest: string }[]>`
    select id, file, digest from archived_ledgers where id = any (${ids}::text[])`
  const fileOf = new Map(named.map(({ id, file }) => [id, file]))
  const files = new Map<string, SessionRows>()
  for (const { file, digest } of named)
    if (!files.has(file)) files.set(file, await rowsOfFile(join(folder, file), digest))
  const [stored, archived]: [string[], string[]] = [[], []]
  for (const [id, rows] of before) {
    const file = fileOf.get(id)
    if (file === undefined) stored.push(id)
    else archived.push(id)
    expect(now.get(id)).toEqual(file === undefined ? rows : [])
    if (file !== undefined) expect(files.get(file)?.get(id)).toEqual(rows)
  }
  return { stored, archived }
}

async function rowsOfFile(file: string, digest: string): Promise<SessionRows> {
  const checked = await checkArchive(file)
  expect([checked.digest, checked.ledgers.filter(({ broken }) => broken !== null)]).toEqual([digest, []])
  const rows = new Map<string, string[]>()
  await readArchive(file, async (archive) => {
    for await (const { table, json } of archive.rows) {
      const { session_id, id = session_id } = JSON.parse(json) as { session_id?: string; id?: string }
      if (id === undefined) continue
      rows.set(id, [...(rows.get(id) ?? []), `${table} ${json}`])
    }
  })
  for (const list of rows.values()) list.sort()
  return rows
}

export const filesBelow = async (folder: string, ending: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(ending)).map((name) => join(folder, name))
