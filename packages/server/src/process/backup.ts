import { chmod, type FileHandle, open, rename, rm } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { gunzippedLines, isUnpackable, write } from '../base/gzip-lines.js'
import { connect } from '../postgres/connect.js'
import { disableTimeouts } from '../postgres/database.js'
import { firstAnswer } from '../postgres/first-answer.js'
import type { Tx } from '../postgres/sql.js'
import { MIGRATIONS, migrate, readMigrations } from '../schema/migrate.js'
import { type Reference, referencedFirst } from '../schema/referenced-first.js'

/** Why a backup cannot be made or read back. The message says what to do. */
export class BackupError extends Error {
  override name = 'BackupError'
}

const FORMAT = 'countersign-backup-1'
/** Written by the migrations themselves, or worthless later. */
const LEFT_OUT = new Set(['schema_migrations', 'buckets'])
const END_OF_TABLE = '.'
/** Rows read at once; the largest have about 4 MB. */
const READ_ROWS = 40
/** About what one statement writes. */
const WRITTEN_CHARACTERS = 4_000_000
const WRITTEN_ROWS = 500

interface Header {
  readonly format: string
  readonly migration: number
}
interface TableHeader {
  readonly table: string
  readonly columns: readonly string[]
}

/**
 * Writes everything the service stores into one compressed file, as of one moment, while it runs. The file is as secret
 * as the database: it holds hashed keys and passwords. Returns the number of rows.
 */
export async function backUp(url: string, file: string): Promise<number> {
  const draft = `${file}.draft`
  const handle = await openFile(file, () => open(draft, 'w', 0o600))
  const sql = connect({ url, name: 'backup', statementTimeoutMs: 0 }, { max: 1 })
  const packed = createGzip()
  const written = pipeline(packed, handle.createWriteStream())
  // Awaited below; a disk that fills up before that must not end the process.
  written.catch(() => {})
  try {
    await firstAnswer(sql)
    let rows = 0
    const writeRows = async (tx: Tx) => {
      await disableTimeouts(tx)
      await write(
        packed,
        `${JSON.stringify({ format: FORMAT, migration: await newestMigration(tx) } satisfies Header)}\n`,
      )
      for (const table of await listTables(tx)) rows += await copyOut(tx, table, packed)
    }
    await sql.begin(writeRows, 'isolation level repeatable read read only')
    packed.end()
    await written
    await chmod(draft, 0o600)
    await rename(draft, file)
    return rows
  } catch (error) {
    packed.destroy()
    await written.catch(() => {})
    await rm(draft, { force: true })
    throw error
  } finally {
    await sql.end({ timeout: 5 })
  }
}

export interface RestoreOptions {
  /** Leaves API keys, issuers, sign-ins and mailed links as they are. Otherwise all are revoked: some may have been since. */
  readonly keepAccess?: boolean
  /** The folder of the migrations; those of this code by default. */
  readonly migrations?: string
}

/** Fills an empty database from a backup and brings it to the version of this code. All of it or nothing. */
export async function restoreBackup(file: string, url: string, options: RestoreOptions = {}): Promise<number> {
  const lines = unpackedLines(await openFile(file, () => open(file)), file)
  try {
    return await restoreLines(lines, { file, url, ...options })
  } finally {
    await lines.return(undefined)
  }
}

async function restoreLines(
  input: AsyncIterator<string>,
  { file, url, keepAccess = false, migrations = MIGRATIONS }: RestoreOptions & { file: string; url: string },
): Promise<number> {
  const header = readHeader((await input.next()).value, file)
  const newest = (await readMigrations(migrations)).at(-1)?.number ?? 0
  if (header.migration > newest) {
    throw new BackupError(`${file} was made by a newer version of Countersign: restore it with that version`)
  }
  await migrate(url, migrations, header.migration)
  const sql = connect({ url, name: 'backup', statementTimeoutMs: 0 }, { max: 1 })
  try {
    let rows = 0
    await sql.begin(async (tx) => {
      await disableTimeouts(tx)
      await requireEmpty(tx)
      // Migrations put first rows into some tables; those of the backup take their place.
      for (const { table } of (await listTables(tx)).reverse()) await tx`delete from ${tx(table)}`
      for (let line = await input.next(); !line.done; line = await input.next()) {
        rows += await copyIn(tx, JSON.parse(line.value) as TableHeader, input)
      }
      if (!keepAccess) await revokeAll(tx)
    })
    await migrate(url, migrations)
    return rows
  } finally {
    await sql.end({ timeout: 5 })
  }
}

async function openFile(file: string, opening: () => Promise<FileHandle>): Promise<FileHandle> {
  try {
    return await opening()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why = code === 'ENOENT' ? 'the file or folder does not exist' : (code ?? String(error))
    throw new BackupError(`${file} cannot be opened: ${why}`)
  }
}

async function* unpackedLines(handle: FileHandle, file: string): AsyncGenerator<string, undefined> {
  try {
    yield* gunzippedLines(handle)
  } catch (error) {
    throw isUnpackable(error)
      ? new BackupError(`${file} cannot be unpacked (${error.message}): it is truncated or not a backup`)
      : error
  }
}

function readHeader(line: string | undefined, file: string): Header {
  try {
    const header = JSON.parse(line ?? '') as Header
    if (header.format === FORMAT) return header
  } catch {
    // Reported below.
  }
  throw new BackupError(`${file} is not a backup of Countersign, or was made by a newer version`)
}

async function newestMigration(tx: Tx): Promise<number> {
  const [row] = await tx<{ number: number }[]>`select max(number) as number from schema_migrations`
  if (!row?.number) throw new BackupError('the database has no Countersign data')
  return row.number
}

async function listTables(tx: Tx): Promise<TableHeader[]> {
  const rows = await tx<{ table: string; columns: string[] }[]>`
    select c.relname as table, array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
      and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    group by c.relname order by c.relname`
  const references = await tx<Reference[]>`
    select f.relname as from, t.relname as to
    from pg_constraint k join pg_class f on f.oid = k.conrelid join pg_class t on t.oid = k.confrelid
    where k.contype = 'f' and k.conrelid <> k.confrelid and f.relnamespace = current_schema()::regnamespace`
  return referencedFirst(
    rows.filter(({ table }) => !LEFT_OUT.has(table)),
    references,
  )
}

/** Rows are written as PostgreSQL writes them: no number or time is converted by JavaScript. */
async function copyOut(tx: Tx, { table, columns }: TableHeader, to: Writable): Promise<number> {
  await write(to, `${JSON.stringify({ table, columns })}\n`)
  let rows = 0
  for await (const batch of tx<{ row: string }[]>`select to_json(t)::text as row from ${tx(table)} t`.cursor(
    READ_ROWS,
  )) {
    rows += batch.length
    // One by one: joined, they might exceed the longest string.
    for (const { row } of batch) await write(to, `${row}\n`)
  }
  await write(to, `${END_OF_TABLE}\n`)
  return rows
}

async function copyIn(tx: Tx, header: TableHeader, input: AsyncIterator<string>): Promise<number> {
  const known = (await listTables(tx)).find(({ table }) => table === header.table)
  if (known === undefined) throw new BackupError(`the backup has an unknown table ${header.table}`)
  let rows = 0
  const batch: string[] = []
  let characters = 0
  const insert = async () => {
    characters = 0
    const columns = tx([...header.columns])
    await tx`
      insert into ${tx(header.table)} (${columns}) overriding system value
      select ${columns} from json_populate_recordset(null::${tx(header.table)}, ${`[${batch.splice(0).join()}]`}::text::json)`
  }
  for (let line = await input.next(); line.value !== END_OF_TABLE; line = await input.next()) {
    if (line.done) throw new BackupError('the backup is truncated')
    rows += 1
    characters += line.value.length
    if (batch.push(line.value) >= WRITTEN_ROWS || characters >= WRITTEN_CHARACTERS) await insert()
  }
  if (batch.length > 0) await insert()
  return rows
}

async function revokeAll(tx: Tx): Promise<void> {
  await tx`update api_keys set revoked_at = statement_timestamp() where revoked_at is null`
  await tx`update refresh_tokens set revoked_at = statement_timestamp() where revoked_at is null`
  await tx`update mail_tokens set voided_at = statement_timestamp() where used_at is null and voided_at is null`
  // One may have been removed since, and which tokens were used since is not known. Older backups have none.
  if ((await listTables(tx)).some(({ table }) => table === 'issuers')) await tx`delete from issuers`
}

async function requireEmpty(tx: Tx): Promise<void> {
  const [row] = await tx<{ used: boolean }[]>`select exists (select 1 from tenants) as used`
  if (row?.used) throw new BackupError('the database is not empty: restore into a new one')
}
