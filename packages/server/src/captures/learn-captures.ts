import { LIMITS } from '@countersign/protocol'
import { makeId } from '../base/crypto/secrets.js'
import { JOBS_SHARE, MAX_ATTEMPTS, whileRenewing } from '../base/work/piece-of-work.js'
import type { Services } from '../context/context.js'
import { type CaptureToLearn, ownFault } from '../context/tasks.js'
import {
  countLearnedTools,
  type LearnedToolChange,
  loadSummaries,
  SUMMARIES_SIZE,
  saveLearnedTools,
} from '../store/captures/learned-tools.js'
import {
  claimAgent,
  countLearningAttempt,
  findWaitingTenant,
  holdClaim,
  type LearningClaim,
  listWaitingBatches,
  loadCapturesInOrder,
  loadOutcomes,
  markLearned,
  releaseAgent,
  renewLearningClaim,
  setCapturesAside,
  splitBatch,
  type UnlearnedCapture,
  type WaitingBatch,
} from '../store/captures/unlearned.js'

/** What is learned at once: so many captures, or so many characters of them, and one more where that is not full. */
export const BATCH_LIMITS = { captures: 500, size: 1024 * 1024 } as const

/** Tools of one agent that are remembered: twice what a request may offer. Later ones are not learned. */
export const MAX_TOOLS = 2 * LIMITS.toolsPerPreflight

/** Characters of one tool's summary. An agent with many tools has less for each, so that a draft can read them all. */
const SUMMARY_SIZE = { most: 512 * 1024, ofAgent: SUMMARIES_SIZE } as const

/** Characters of summaries that are read, sent to the thread and written at once: each takes some ten milliseconds. */
export const GROUP_SIZE = 2 * 1024 * 1024

export type Learner = Pick<Services, 'database' | 'thread' | 'log' | 'random'>

/**
 * Learns from captures of one agent that were not learned from yet, and returns how many it took; 0 when none are left.
 * The agent is claimed, the captures are read, the thread computes, and one short transaction writes what was learned and
 * that it was learned, if the claim still holds. So each capture counts once, through any crash.
 */
export async function learnCaptures(learner: Learner, cursor: LearningCursor = newCursor()): Promise<number> {
  const { database, random } = learner
  const claim = await nextAgent(learner, cursor, makeId(random, 'lrn'))
  if (claim === null) return 0
  try {
    const batches = await database.single(JOBS_SHARE, (sql) => listWaitingBatches(sql, claim, BATCH_LIMITS.captures))
    const hopeless = batches.filter(({ attempts }) => attempts >= MAX_ATTEMPTS)
    for (const batch of hopeless) await giveUp(learner, claim, batch)
    const [first, ...others] = batches.filter(({ attempts }) => attempts < MAX_ATTEMPTS)
    if (first === undefined) return hopeless.length
    // What failed before is tried alone, so that it takes nothing else along.
    const fresh = [first, ...others].filter(({ attempts }) => attempts === 0)
    return hopeless.length + (await attempt(learner, claim, first.attempts > 0 ? [first] : fresh))
  } finally {
    await database.single(JOBS_SHARE, (sql) => releaseAgent(sql, claim))
  }
}

const BEGUN = 'it was begun and never finished: the process ended meanwhile'

/** Counts the attempt, then makes it. Returns how many captures were taken, also where the attempt failed. */
async function attempt(learner: Learner, claim: LearningClaim, batches: readonly WaitingBatch[]): Promise<number> {
  const { database, log } = learner
  const count = (by: 1 | 0 | -1, error: string | null) =>
    database.single(JOBS_SHARE, (sql) => countLearningAttempt(sql, claim, batches, { by, error }))
  await count(1, BEGUN)
  const renew = () => database.single(JOBS_SHARE, (sql) => renewLearningClaim(sql, claim))
  try {
    const taken = await whileRenewing(renew, () => learnBatches(learner, claim, batches))
    if (taken !== null) return taken
    // Another instance has the agent now, or a session was erased that may be among the captures.
    await count(-1, null)
    return 1
  } catch (error) {
    const why = ownFault(error, 'reading or writing what they tell')
    // The database or the end of the process is to blame, and not the captures.
    if (why === null) {
      await count(-1, null).catch(() => {})
      throw error
    }
    const captures = batches.reduce((sum, { captureIds }) => sum + captureIds.length, 0)
    const { tenantId, agent } = claim
    log.warn({ tenant_id: tenantId, agent, captures, error }, 'learning from captures failed and will be tried again')
    await count(0, why)
    return captures
  }
}

/** Returns how many captures were learned. Null when the claim was over before they were: then nothing was written. */
async function learnBatches(
  learner: Learner,
  claim: LearningClaim,
  batches: readonly WaitingBatch[],
): Promise<number | null> {
  const { database, thread } = learner
  const { tenantId } = claim
  const ids = batches.flatMap(({ captureIds }) => captureIds)
  const read = await database.single(JOBS_SHARE, (sql) =>
    loadCapturesInOrder(sql, { tenantId, ids, size: BATCH_LIMITS.size }),
  )
  const present = read.filter((capture): capture is PresentCapture => capture.item !== null)
  const items = present.map(({ item }) => item)
  const { captures, tools } = await thread.run(JOBS_SHARE, 'learnedTools', items)
  const chosen = present.slice(0, captures)
  // Those that were removed meanwhile are taken along with what stood before them.
  const next = present[captures]
  const taken = next === undefined ? read.length : read.indexOf(next)
  const [outcomes, known] = await database.single(JOBS_SHARE, async (sql) => [
    await loadOutcomes(sql, tenantId, chosen),
    await countLearnedTools(sql, claim, tools),
  ])
  const groups = await learnGroups(learner, claim, {
    captures: chosen.map(({ captureId, item }) => ({ item, outcomes: outcomes.get(captureId) ?? null })),
    tools,
    known,
  })
  return database.transaction(JOBS_SHARE, async (tx) => {
    if (!(await holdClaim(tx, claim))) return null
    for (const changes of groups) await saveLearnedTools(tx, claim, changes)
    await markLearned(tx, claim, takenOf(batches, taken))
    return taken
  })
}

interface ToLearn {
  readonly captures: readonly CaptureToLearn[]
  /** The tools that they tell of. */
  readonly tools: readonly string[]
  readonly known: { readonly inAll: number; readonly ofThese: number }
}

/**
 * What changes, some tools at a time. Nothing else writes what is read here while the claim holds. All of it is kept until
 * it can be written in one transaction, which comes to `SUMMARY_SIZE.ofAgent` at most: no tool has more than its share.
 */
async function learnGroups(
  { database, thread }: Learner,
  claim: LearningClaim,
  { captures, tools, known }: ToLearn,
): Promise<LearnedToolChange[][]> {
  const { tenantId, agent, salt } = claim
  const toolsAfterwards = known.inAll + tools.length - known.ofThese
  const summarySize = Math.min(SUMMARY_SIZE.most, Math.floor(SUMMARY_SIZE.ofAgent / Math.max(1, toolsAfterwards)))
  const groups: LearnedToolChange[][] = []
  let room = MAX_TOOLS - known.inAll
  for (let done = 0; done < tools.length; ) {
    const group = await database.single(JOBS_SHARE, (sql) =>
      loadSummaries(sql, { tenantId, agent, tools: tools.slice(done), size: GROUP_SIZE }),
    )
    const input = { captures, salt, tools: group, summarySize, atOnce: GROUP_SIZE }
    const learned = await thread.run(JOBS_SHARE, 'learnBatch', input)
    const added = new Set(group.flatMap(({ toolName, summary }) => (summary === null ? [toolName] : [])))
    // New tools as long as there is room for them.
    const changes = learned.changes.filter(({ toolName }) => !added.has(toolName) || room-- > 0)
    if (changes.length > 0) groups.push(changes)
    done += learned.tools
  }
  return groups
}

type PresentCapture = UnlearnedCapture & { readonly item: string }

/** How many captures of each batch are among the first `taken` of all. */
function takenOf(batches: readonly WaitingBatch[], taken: number): (WaitingBatch & { taken: number })[] {
  let left = taken
  return batches.flatMap((batch) => {
    const own = Math.min(left, batch.captureIds.length)
    left -= own
    return own === 0 ? [] : [{ ...batch, taken: own }]
  })
}

/** A batch that failed so often is split; a single capture is set aside. */
async function giveUp({ database, log }: Learner, claim: LearningClaim, batch: WaitingBatch): Promise<void> {
  const { tenantId, agent } = claim
  const [captureId, ...others] = batch.captureIds
  if (others.length > 0) return database.single(JOBS_SHARE, (sql) => splitBatch(sql, claim, batch))
  await database.single(JOBS_SHARE, (sql) => setCapturesAside(sql, claim, batch))
  log.warn(
    { tenant_id: tenantId, agent, capture_id: captureId, attempts: batch.attempts, reason: batch.error },
    'a capture was set aside: learning from it failed again and again. countersign set-aside list shows it',
  )
}

/** How far an instance has come. Tenants take turns, and so do the agents of a tenant: a backlog holds up no other. */
export interface LearningCursor {
  tenantId: string
  /** By tenant the agent that came last. */
  readonly agents: Map<string, string>
}

export const newCursor = (): LearningCursor => ({ tenantId: '', agents: new Map() })

/** Forgotten together: then each tenant starts with its first agent once more. */
const MAX_CURSORS = 1_000

const cursors = new WeakMap<object, LearningCursor>()

/** How far an instance has come, by its database. */
export function cursorOf(database: object): LearningCursor {
  const cursor = cursors.get(database) ?? newCursor()
  cursors.set(database, cursor)
  return cursor
}

/** In turn between the tenants. Those of which no agent could be claimed are passed over. */
async function nextAgent(
  { database }: Learner,
  cursor: LearningCursor,
  claimId: string,
): Promise<LearningClaim | null> {
  const find = (after: string) => database.single(JOBS_SHARE, (sql) => findWaitingTenant(sql, after))
  const passedOver = new Set<string>()
  for (;;) {
    const tenantId = (await find(cursor.tenantId)) ?? (cursor.tenantId === '' ? null : await find(''))
    cursor.tenantId = tenantId ?? ''
    if (tenantId === null || passedOver.has(tenantId)) return null
    const claim = await nextOfTenant(database, cursor, { tenantId, claimId })
    if (claim !== null) return claim
    passedOver.add(tenantId)
  }
}

async function nextOfTenant(
  database: Learner['database'],
  { agents }: LearningCursor,
  { tenantId, claimId }: { tenantId: string; claimId: string },
): Promise<LearningClaim | null> {
  const claim = (after: string) => database.single(JOBS_SHARE, (work) => claimAgent(work, { tenantId, after, claimId }))
  const last = agents.get(tenantId) ?? ''
  const first = await claim(last)
  const isEnd = first.claim === null && first.reached === null
  const search = isEnd && last !== '' ? await claim('') : first
  if (agents.size >= MAX_CURSORS) agents.clear()
  if (search.reached === null) agents.delete(tenantId)
  else agents.set(tenantId, search.reached)
  return search.claim
}
