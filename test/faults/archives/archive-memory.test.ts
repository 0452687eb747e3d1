import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hashPlan } from '@countersign/engine'
import type { CompiledSession, Contract } from '@countersign/protocol'
import { afterAll, beforeAll, expect } from 'vitest'
import { archiveLines, writeDraft } from '../../../packages/server/src/archives/archive-file.js'
import { connect } from '../../../packages/server/src/postgres/connect.js'
import { disableTimeouts } from '../../../packages/server/src/postgres/database.js'
import { codeVersion } from '../../../packages/server/src/schema/migrate.js'
import { readArchivedRows } from '../../../packages/server/src/store/archives/archived-rows.js'
import { storePlan } from '../../../packages/server/src/store/governance/plans.js'
import { PATIENCE_MS, rounds } from '../../support/data/rounds.js'
import { buildOnce, countersign } from '../../support/process/command-line.js'
import { proves } from '../../support/proves.js'
import { openSession } from '../../support/runtime/governed-session.js'
import { planOf } from '../../support/runtime/plans.js'
import { withRuntime } from '../../support/runtime/with-runtime.js'
import { storeAgedCopies } from '../../support/volume/aged-copies.js'

/** Old sessions, each with a large plan of its own: prepared, a plan takes 25 times its JSON. */
const SESSIONS = rounds(18, 200)
/** What the command needs without such sessions, and some plans. */
const HEAP = { NODE_OPTIONS: '--max-old-space-size=200' }

const { runtime, api } = await withRuntime()
const { tenantId } = runtime
const folder = await mkdtemp(join(tmpdir(), 'countersign-memory-'))
const operator = connect({ url: runtime.databaseUrl, statementTimeoutMs: 0 }, { max: 1 })
afterAll(async () => {
  await operator.end({ timeout: 1 })
  await rm(folder, { recursive: true, force: true })
})

const TOOL = `u_${'x'.repeat(100)}`
const SMALL_PLAN = planOf([
  {
    tool: TOOL,
    side_effect: 'read',
    commit_requirement: 'executed',
    evidence_class: 'unverifiable',
    arguments: {
      type: 'object',
      properties: {
        original: { type: 'string', maxLength: 17, pattern: '^a{1,9}b$' },
        b: { type: 'integer', minimum: 0 },
      },
    },
  } satisfies Contract,
])

/** The contract of the small plan 1,400 times, about 470 kB of JSON. */
function largePlan(name: string): string {
  const { compiled_session: small } = SMALL_PLAN
  const text = JSON.stringify(small.contracts[0]).replaceAll('"original"', `"${name}"`)
  const contracts = Array.from({ length: 1_400 }, (_, at) => JSON.parse(text.replaceAll(TOOL, `${TOOL}_${1_000 + at}`)))
  return JSON.stringify({ ...small, contracts })
}

const ids = Array.from({ length: SESSIONS }, (_, at) => `planned-${1_000 + at}`)
beforeAll(async () => {
  buildOnce()
  const session = await openSession(api, { session_id: 'original', plan: SMALL_PLAN })
  await api.endSession({ params: { session_id: 'original' }, body: { fence: session.fence } })
  const hashes = new Map<string, string>()
  for (const id of ids) {
    const compiled = largePlan(id)
    expect(compiled.length).toBeGreaterThan(440_000)
    const compiledHash = hashPlan(JSON.parse(compiled) as CompiledSession)
    await storePlan(runtime.sql, { tenantId, compiledHash, compiled })
    hashes.set(id, compiledHash)
  }
  const compiledHash = (id: string) => hashes.get(id) ?? ''
  await storeAgedCopies(runtime.sql, { tenantId, original: 'original', ids, compiledHash })
}, PATIENCE_MS)

async function run(args: readonly string[]) {
  const command = countersign(args, HEAP)
  return { code: await command.ended, output: command.output() }
}

proves(
  'archive.large-plans',
  'a file with many large plans verifies in little memory',
  async () => {
    const file = join(folder, 'all.archive.gz')
    await operator.begin(async (tx) => {
      await disableTimeouts(tx)
      const batch = { tenantId, sessionIds: ids, workflowIds: [] }
      await writeDraft(file, archiveLines({ migration: await codeVersion(), tenantId }, readArchivedRows(tx, batch)))
    })
    const { code, output } = await run(['verify', file])
    expect(output).toContain(`${SESSIONS} of ${SESSIONS} ledgers of tenant ${tenantId} are intact`)
    expect(code).toBe(0)
  },
  PATIENCE_MS,
)

proves(
  'archive.large-plans',
  'sessions with many large plans are archived in little memory, in files with some megabytes of plans each',
  async () => {
    const to = join(folder, 'to')
    const database = ['--database-url', runtime.databaseUrl]
    const { code, output } = await run(['archive', '--before', '2021-01-01', '--to', to, ...database])
    const files = Math.ceil(SESSIONS / 12)
    expect(output).toContain(`archived ${SESSIONS} sessions in ${files} files`)
    expect(code).toBe(0)
    expect((await readdir(join(to, tenantId))).filter((name) => name.endsWith('.gz'))).toHaveLength(files)
  },
  PATIENCE_MS,
)
