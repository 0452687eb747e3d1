// npm run bench -- archive [MB]: can a tenant of any size be archived? `countersign archive`, `verify` and `restore` move
// a small tenant and one ten times as large, with ledgers that verify and content that hardly compresses. Each is a process
// of its own, as an operator starts it. `*_memory_ratio` is the peak of its resident memory with the large tenant divided by
// the peak with the small one, `*_rate_ratio` its megabytes per second likewise: 1 means that it does not matter how much
// there is. Megabytes are those of the rows as JSON, before compression.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, open, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startEmbeddedPostgres } from '@countersign/server'
import { connect } from '../packages/server/src/postgres/connect.js'
import { storeAgedCopies } from '../test/support/volume/aged-copies.js'
import { agentOf, signUp } from './support/bench-agent.js'
import { startOwnServer } from './support/own-server.js'

const LARGE_MB = Number(process.argv[2] ?? 400)
const SMALL_MB = LARGE_MB / 10
const ORIGINALS = 20
const TURNS = 10
const CONTENT_BYTES = 3_000

const folder = await mkdtemp(join(tmpdir(), 'countersign-archive-bench-'))
const data = join(folder, 'data')
const SIZES = ['small', 'large'] as const
const tenants = await makeTenants()
const postgres = await startEmbeddedPostgres({ dataFolder: data })
const sql = connect({ url: postgres.url, statementTimeoutMs: 0 }, { max: 1 })
try {
  const perSession = await sizeOfSession(tenants.small)
  for (const [size, mb] of [
    ['small', SMALL_MB],
    ['large', LARGE_MB],
  ] as const)
    await fill(tenants[size], Math.ceil((mb * 1e6) / perSession))
  await sql`vacuum analyze`
  const database = ['--database-url', postgres.url]
  const figures: Record<string, number> = {}
  const to = (size: (typeof SIZES)[number]) => join(folder, size)
  const commands = {
    archive: (size: (typeof SIZES)[number]) => [
      ...['archive', '--before', '2021-01-01', '--to', to(size), '--tenant', tenants[size]],
      ...database,
    ],
    verify: (size: (typeof SIZES)[number]) => ['verify', to(size)],
  }
  for (const [name, args] of Object.entries(commands)) {
    const [small, large] = [await measure(args('small'), to('small')), await measure(args('large'), to('large'))]
    figures[`${name}_mb_per_s`] = rounded(large.mb / large.seconds)
    figures[`${name}_peak_mb`] = rounded(large.peakMb)
    figures[`${name}_memory_ratio`] = rounded(large.peakMb / small.peakMb)
    figures[`${name}_rate_ratio`] = rounded(large.mb / large.seconds / (small.mb / small.seconds))
    for (const { mb, seconds, peakMb, packedMb, files } of [small, large])
      console.log(
        `${name.padEnd(8)} ${mb.toFixed(0).padStart(5)} MB (${packedMb.toFixed(0)} MB in ${files} files): ` +
          `${seconds.toFixed(1)} s, ${(mb / seconds).toFixed(1)} MB a second, ${peakMb.toFixed(0)} MB of memory at most`,
      )
  }
  console.log(JSON.stringify({ bench: 'archive', mb: LARGE_MB, ...figures }))
} finally {
  await sql.end({ timeout: 5 })
  await postgres.stop()
  await rm(folder, { recursive: true, force: true })
}

/** Two tenants with some sessions each, made through the service. */
async function makeTenants(): Promise<Readonly<Record<(typeof SIZES)[number], string>>> {
  const server = await startOwnServer(data)
  const made: Record<string, string> = {}
  for (const size of SIZES) {
    const credentials = await signUp(server.url, server.parts.database.sql, `${size}@example.test`)
    const agent = agentOf(server.url, credentials)
    for (let number = 0; number < ORIGINALS; number += 1) {
      const session = await agent.open(`original-${number}`, { agent: 'bench', labels: ['vip'], capture_level: 'full' })
      await session.turn(900)
      for (let turn = 0; turn < TURNS; turn += 1) await session.turn(50)
      await session.end()
    }
    made[size] = credentials.tenantId
  }
  await server.remove()
  return made as Record<(typeof SIZES)[number], string>
}

/** Bytes of its rows as JSON: those of the first copy, which stays. */
async function sizeOfSession(tenantId: string): Promise<number> {
  await storeAgedCopies(sql, { tenantId, original: 'original-0', ids: ['first'], content: noise })
  let bytes = 0
  for (const table of ['sessions', 'session_heads', 'session_events', 'receipts', 'content']) {
    const [row] = await sql<{ bytes: number }[]>`
      select sum(octet_length(to_json(t)::text))::float8 as bytes from ${sql(table)} t
      where tenant_id = ${tenantId} and session_id = 'first'`
    bytes += row?.bytes ?? 0
  }
  return bytes
}

async function fill(tenantId: string, sessions: number): Promise<void> {
  const each = Math.ceil(sessions / ORIGINALS)
  for (let number = 0; number < ORIGINALS; number += 1) {
    const ids = Array.from({ length: each }, (_, at) => `copy-${number}-${at}`)
    await storeAgedCopies(sql, { tenantId, original: `original-${number}`, ids, content: noise })
  }
}

/** Base64 compresses to three quarters: no text that people write is worse. */
function noise(): string {
  return randomBytes((CONTENT_BYTES * 3) / 4).toString('base64')
}

interface Measured {
  readonly seconds: number
  readonly peakMb: number
  /** Of the rows in the files, and of the files. */
  readonly mb: number
  readonly packedMb: number
  readonly files: number
}

async function measure(args: readonly string[], archives: string): Promise<Measured> {
  const startedMs = performance.now()
  const peakMb = await peakOf(args)
  const seconds = (performance.now() - startedMs) / 1_000
  const names = (await readdir(archives, { recursive: true })).filter((name) => name.endsWith('.gz'))
  let [mb, packedMb] = [0, 0]
  for (const name of names) {
    mb += (await unpackedBytes(join(archives, name))) / 1e6
    packedMb += (await stat(join(archives, name))).size / 1e6
  }
  return { seconds, peakMb, mb, packedMb, files: names.length }
}

/** What gzip wrote of it at the end of the file. */
async function unpackedBytes(file: string): Promise<number> {
  const handle = await open(file)
  const { size } = await handle.stat()
  const { buffer } = await handle.read(Buffer.alloc(4), 0, 4, size - 4)
  await handle.close()
  return buffer.readUInt32LE()
}

/** Runs a command and returns the most memory that it had resident, in megabytes. */
async function peakOf(args: readonly string[]): Promise<number> {
  const say = "process.on('exit', () => process.stderr.write('peak ' + process.resourceUsage().maxRSS + ' '))"
  const main = fileURLToPath(new URL('../packages/cli/dist/main.js', import.meta.url))
  const child = spawn(process.execPath, ['--import', `data:text/javascript,${say}`, main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-10_000)
    })
  const code = await new Promise<number | null>((done) => child.once('close', done))
  const peak = /peak (\d+)/.exec(output)?.[1]
  if (code !== 0 || peak === undefined) throw new Error(`countersign ${args[0]} ended with ${code}:\n${output}`)
  return Number(peak) / 1024
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}
