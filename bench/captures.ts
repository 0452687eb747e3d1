// npm run bench -- captures [CAPTURES]: what do ingesting and learning from captures cost?
// The floor inserts the same rows in batches of the same size with the same driver and without HTTP, alternating with
// the service; the ratio is captures per second divided by the floor's. Growth compares the cost of learning from a
// capture after CAPTURES (200,000) with the cost after 1,000. Batches of the two databases alternate, so that both run
// on the same machine with the same warm code; the median of their ratios counts.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CaptureItem } from '@countersign/protocol'
import { startEmbeddedPostgres } from '@countersign/server'
import { learnCaptures } from '../packages/server/src/captures/learn-captures.js'
import { stripCapture } from '../packages/server/src/captures/strip-capture.js'
import { createDatabase, type Database } from '../packages/server/src/postgres/database.js'
import { migrate } from '../packages/server/src/schema/migrate.js'
import { captureTexts, insertCaptures } from '../packages/server/src/store/captures/captures.js'
import { mailConversation } from '../test/support/data/captures.js'
import { startBenchServer } from './support/bench-server.js'
import { createLearner } from './support/learner.js'

const MANY = Number(process.argv[2] ?? 200_000)
const FEW = 1_000
const BATCH = 250
const CONCURRENCY = 4
const ROUNDS = 5
const BATCHES_PER_ROUND = 16
const CAPTURES = 500
const LEARNING_TURNS = 20

let serial = 0
const learner = createLearner()
const folder = await mkdtemp(join(tmpdir(), 'countersign-bench-'))
const postgres = await startEmbeddedPostgres({ dataFolder: folder })
const server = await startBenchServer(postgres.url)
const database = createDatabase({ url: postgres.url, poolSize: 12 })
const youngUrl = postgres.url.replace(/[^/]*$/, 'young')
const young = createDatabase({ url: youngUrl, poolSize: 4 })
try {
  const ratio = await measureIngest(database)
  // Stop the service, because it would learn in the background.
  await server.stop()
  await database.sql`create database young`
  await migrate(youngUrl)
  const growth = await measureLearning(young, database)
  console.log(JSON.stringify({ bench: 'captures', ratio_to_floor: round(ratio), learn_growth: round(growth) }))
} finally {
  await learner.thread.close()
  await young.close()
  await database.close()
  await postgres.stop()
  await rm(folder, { recursive: true, force: true })
}

/** Conversations of two calls each, all of them different. */
function newBatch(agent: string, size = BATCH): CaptureItem[] {
  const items: CaptureItem[] = []
  while (items.length < size) items.push(...mailConversation(agent, `Person${serial++}`))
  return items.slice(0, size)
}

async function measureIngest({ sql }: Database): Promise<number> {
  await sql`create table floor_captures (like captures including all)`
  const ingest = async (items: readonly CaptureItem[]) => {
    const response = await fetch(`${server.url}/api/v1/captures`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ captures: items }),
    })
    const reply = (await response.json()) as { accepted?: number }
    if (reply.accepted !== items.length) throw new Error(`the service took ${JSON.stringify(reply).slice(0, 300)}`)
  }
  const insert = async (items: readonly CaptureItem[]) => {
    const rows = items.map(stripCapture).map(({ captureId, conversationId, captureLevel, toolNames, ...rest }) => ({
      ...{ capture_id: captureId, conversation_id: conversationId, capture_level: captureLevel, tool_names: toolNames },
      ...rest,
    }))
    await sql`
      insert into floor_captures (tenant_id, capture_id, agent, conversation_id, at, capture_level, tool_names, decision, item)
      select 'floor', c.capture_id, c.agent, c.conversation_id, c.at, c.capture_level,
        array(select json_array_elements_text(c.tool_names)), c.decision, c.item
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as c (
        capture_id text, agent text, conversation_id text, at timestamptz, capture_level text, tool_names json,
        decision text, item json)`
  }
  await rate(ingest)
  await rate(insert)
  const ratios: number[] = []
  for (let turn = 0; turn < ROUNDS; turn++) {
    const [full, bare] = [await rate(ingest), await rate(insert)]
    console.log(`${full.toFixed(0)} captures a second through HTTP, ${bare.toFixed(0)} by bare insert`)
    ratios.push(full / bare)
  }
  return median(ratios)
}

/** Captures per second, with a few batches at the same time. */
async function rate(send: (items: readonly CaptureItem[]) => Promise<void>): Promise<number> {
  const batches = Array.from({ length: BATCHES_PER_ROUND }, () => newBatch('ingested'))
  const started = performance.now()
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (let batch = batches.pop(); batch !== undefined; batch = batches.pop()) await send(batch)
    }),
  )
  return (BATCHES_PER_ROUND * BATCH * 1_000) / (performance.now() - started)
}

async function measureLearning(fresh: Database, grown: Database): Promise<number> {
  const afterFew = await learnerIn(fresh)
  const afterMany = await learnerIn(grown)
  for (let done = 0; done < FEW; done += CAPTURES) await afterFew()
  for (let done = 0; done < MANY; done += CAPTURES) await afterMany()
  const pairs: { early: number; late: number }[] = []
  for (let turn = 0; turn < LEARNING_TURNS; turn++) {
    if (turn % 2 === 0) pairs.push({ early: await afterFew(), late: await afterMany() })
    else pairs.push({ late: await afterMany(), early: await afterFew() })
  }
  const [early, late] = [median(pairs.map((pair) => pair.early)), median(pairs.map((pair) => pair.late))]
  console.log(`learning costs ${early.toFixed(3)} ms a capture after ${FEW}, ${late.toFixed(3)} ms after ${MANY}`)
  return median(pairs.map((pair) => pair.late / pair.early))
}

/** An agent in its own tenant. Each call inserts a batch, learns it, and returns the cost per capture in ms. */
async function learnerIn(db: Database): Promise<() => Promise<number>> {
  await db.sql`insert into tenants (tenant_id, name) values ('school', 'school')`
  await db.sql`delete from unlearned_captures`
  return async () => {
    const items = newBatch('learner', CAPTURES).map(stripCapture)
    await insertCaptures(db.sql, 'school', captureTexts(items), {
      salts: new Map([['learner', 'salt']]),
      governed: false,
    })
    const started = performance.now()
    const learned = await learnCaptures({ database: db, ...learner })
    if (learned !== CAPTURES) throw new Error(`${learned} captures were learned of ${CAPTURES}`)
    return (performance.now() - started) / learned
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000
}
