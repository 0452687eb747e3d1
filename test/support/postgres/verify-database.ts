import { verifyExport } from '@countersign/engine'
import { exportEventsReply } from '@countersign/protocol'
import { expect } from 'vitest'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import type { Sql } from '../../../packages/server/src/postgres/sql.js'
import { startRuntime } from '../runtime/runtime.js'

/** Verifies every session that a server on this database exports: chain, plan and fold. Returns how many there are. */
export async function verifyDatabase(url: string, key: string): Promise<number> {
  const ids = await readDatabase(
    url,
    (sql) => sql<{ sessionId: string }[]>`select session_id from sessions order by session_id`,
  )
  const runtime = await startRuntime({ through: async () => url })
  try {
    for (const { sessionId } of ids) {
      const { status, body } = await runtime.api(key).exportEvents({ params: { session_id: sessionId } })
      expect(status).toBe(200)
      expect(verifyExport(exportEventsReply.parse(body))).toMatchObject({ ok: true })
    }
    return ids.length
  } finally {
    await runtime.close()
  }
}

/** Looks into a database with a connection of its own. */
export async function readDatabase<T>(url: string, look: (sql: Sql) => Promise<T>): Promise<T> {
  const sql = connect({ url }, { max: 1 })
  try {
    return await look(sql)
  } finally {
    await sql.end({ timeout: 5 })
  }
}
