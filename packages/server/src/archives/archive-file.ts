import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { gunzippedLines, isUnpackable } from '../base/gzip-lines.js'
import { ARCHIVED_TABLES, type ArchivedRow, PLANS } from '../store/archives/archived-rows.js'

/** Why sessions cannot be archived, or a file cannot be read. The message says what to do. */
export class ArchiveError extends Error {
  override name = 'ArchiveError'
}

/** The folder cannot be written, for any tenant. */
export class ArchivePlaceError extends ArchiveError {}

const FORMAT = 'countersign-archive-1'

/** The first line of an archive. */
export interface ArchiveHeader {
  /** The newest migration of the database that the rows come from. */
  readonly migration: number
  readonly tenantId: string
}

/** The last line. */
interface ArchiveEnd {
  readonly rows: number
  /** Of all lines before this one. */
  readonly sha256: string
}

/** The lines of an archive; the last one has the digest, which is also returned. Nothing in them depends on the time. */
export async function* archiveLines(
  { migration, tenantId }: ArchiveHeader,
  rows: AsyncIterable<ArchivedRow>,
): AsyncGenerator<string, string> {
  const hash = createHash('sha256')
  const line = (text: string) => {
    hash.update(text).update('\n')
    return text
  }
  yield line(JSON.stringify({ format: FORMAT, migration, tenant_id: tenantId }))
  let count = 0
  for await (const { table, json } of rows) {
    count += 1
    yield line(`["${table}",${json}]`)
  }
  const sha256 = hash.digest('hex')
  yield JSON.stringify({ end: { rows: count, sha256 } satisfies ArchiveEnd })
  return sha256
}

/** The digest of lines that are not kept. */
export async function digestOf(lines: AsyncGenerator<string, string>): Promise<string> {
  for (;;) {
    const { done, value } = await lines.next()
    if (done) return value
  }
}

/** Writes a file that gets its name later, waits until the disk has it, and returns its digest. As secret as the database. */
export async function writeDraft(draft: string, lines: AsyncGenerator<string, string>): Promise<string> {
  const handle = await openFile(draft, () => open(draft, 'w', 0o600), ArchivePlaceError)
  const packed = createGzip()
  const written = pipeline(packed, handle.createWriteStream({ flush: true }))
  // Awaited below; a disk that fills up before that must not end the process.
  written.catch(() => {})
  try {
    for (let line = await lines.next(); ; line = await lines.next()) {
      if (line.done) {
        packed.end()
        await written
        return line.value
      }
      if (!packed.write(`${line.value}\n`)) await Promise.race([once(packed, 'drain'), written])
    }
  } catch (error) {
    packed.destroy()
    await written.catch(() => {})
    await rm(draft, { force: true })
    // Closes the cursor: the transaction cannot end before it.
    await lines.return('')
    throw isOfDisk(error)
      ? new ArchivePlaceError(`${draft} cannot be written: ${whyNot(error)}; nothing was removed`)
      : error
  }
}

/** Gives a draft its name, and waits until the disk has that too. */
export async function publish(draft: string, file: string): Promise<void> {
  await rename(draft, file)
  const folder = await open(dirname(file), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** What an archive says, line by line. The digest is known to be right only when the last one was read. */
export interface ArchiveReader {
  readonly header: ArchiveHeader
  /** Ends with the digest. Throws where anything was changed, added or cut off. */
  readonly rows: AsyncGenerator<ArchivedRow, string>
}

/** Reads an archive row by row, so that one of any size needs little memory. */
export async function readArchive<Result>(
  file: string,
  use: (archive: ArchiveReader) => Promise<Result>,
): Promise<Result> {
  const lines = gunzippedLines(await openFile(file, () => open(file)))
  try {
    const first = await lines.next()
    return await use({ header: headerOf(first.value, file), rows: rowsOf(first.value ?? '', lines, file) })
  } catch (error) {
    if (isUnpackable(error))
      throw new ArchiveError(`${file} cannot be unpacked (${error.message}): it is truncated, or no archive`)
    if ((error as NodeJS.ErrnoException).code === 'EISDIR') throw new ArchiveError(`${file} is a folder`)
    throw error
  } finally {
    await lines.return(undefined)
  }
}

async function* rowsOf(first: string, lines: AsyncIterable<string>, file: string): AsyncGenerator<ArchivedRow, string> {
  const hash = createHash('sha256').update(`${first}\n`)
  let rows = 0
  let end: ArchiveEnd | null = null
  for await (const line of lines) {
    if (end !== null) throw changed(file, 'it goes on after its end')
    end = endOf(line)
    if (end !== null) continue
    hash.update(line).update('\n')
    rows += 1
    yield rowOf(line, file)
  }
  if (end === null) throw new ArchiveError(`${file} is truncated: its end is missing`)
  if (end.rows !== rows || end.sha256 !== hash.digest('hex')) throw changed(file, 'its digest does not match')
  return end.sha256
}

const changed = (file: string, why: string) =>
  new ArchiveError(`${file} was changed after it was written: ${why}; use an unchanged copy`)

function headerOf(line: string | undefined, file: string): ArchiveHeader {
  const header = parsed(line ?? '') as { format?: unknown; migration?: unknown; tenant_id?: unknown } | null
  if (header?.format !== FORMAT) {
    throw new ArchiveError(`${file} is no archive of Countersign, or was written by a newer version`)
  }
  const { migration, tenant_id: tenantId } = header
  if (!Number.isSafeInteger(migration) || typeof tenantId !== 'string') throw changed(file, 'its first line is broken')
  return { migration: migration as number, tenantId }
}

const END = '{"end":'

function endOf(line: string): ArchiveEnd | null {
  return line.startsWith(END) ? ((parsed(line) as { end?: ArchiveEnd } | null)?.end ?? null) : null
}

const TABLES: ReadonlySet<string> = new Set([PLANS, ...ARCHIVED_TABLES.map(({ name }) => name)])

/** `["table",{…}]`: the row is cut out, not written anew, so that it stays as PostgreSQL wrote it. */
function rowOf(line: string, file: string): ArchivedRow {
  const table = /^\["([a-z_]+)",\{/.exec(line)?.[1]
  if (table === undefined || !TABLES.has(table) || !line.endsWith('}]'))
    throw changed(file, 'it has a line of no table')
  return { table, json: line.slice(table.length + 4, -1) }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

async function openFile(
  file: string,
  opening: () => Promise<FileHandle>,
  Failure: typeof ArchiveError = ArchiveError,
): Promise<FileHandle> {
  try {
    return await opening()
  } catch (error) {
    throw new Failure(`${file} cannot be opened: ${whyNot(error)}`)
  }
}

export const isOfDisk = (error: unknown): boolean => typeof (error as NodeJS.ErrnoException).syscall === 'string'

function whyNot(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  return WHY_NOT[code ?? ''] ?? code ?? String(error)
}

const WHY_NOT: Readonly<Record<string, string>> = {
  ENOENT: 'the file or folder does not exist',
  EACCES: 'this user has no permission',
  EPERM: 'this user has no permission',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
  EISDIR: 'it is a folder',
}
