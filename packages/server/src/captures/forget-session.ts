import { setTimeout } from 'node:timers/promises'
import { ApiError } from '../base/api-error.js'
import { makeId } from '../base/crypto/secrets.js'
import { whileRenewing } from '../base/work/piece-of-work.js'
import {
  claimToForget,
  deleteForgotten,
  FORGETTING,
  type LearnedSession,
  listLearnedCaptures,
} from '../store/captures/forgetting.js'
import { type LearnedToolChange, loadSummaries, saveLearnedTools } from '../store/captures/learned-tools.js'
import {
  holdClaim,
  type LearningClaim,
  loadCapturesInOrder,
  releaseAgent,
  renewLearningClaim,
} from '../store/captures/unlearned.js'
import { BATCH_LIMITS, GROUP_SIZE, type Learner } from './learn-captures.js'

type Forgetter = Pick<Learner, 'database' | 'thread' | 'random'>

/** How often and after how long it is tried again where another request forgets about the same agent: ten seconds in all. */
const TRIES = { most: 100, everyMs: 100 } as const

/**
 * Takes what was learned of a session's calls out of the summaries again, and its captures with it: keys and values that no
 * other session had. Some captures at a time: the agent is claimed, as for learning, the thread computes, and one short
 * transaction writes, if the claim still holds. So nothing is locked while the thread is waited for, and each capture is
 * forgotten once.
 */
export async function forgetSession(forgetter: Forgetter, session: LearnedSession): Promise<void> {
  const { database, random } = forgetter
  const { tenantId } = session
  const claimId = makeId(random, FORGETTING)
  let held: LearningClaim | null = null
  try {
    for (let lost = 0; lost < TRIES.most; ) {
      const claim = await database.single(tenantId, (sql) => claimToForget(sql, session, claimId))
      held = claim ?? held
      const ids = await database.find(tenantId, (sql) => listLearnedCaptures(sql, session, BATCH_LIMITS.captures))
      if (ids.length === 0) return
      if (claim !== null && (await forgetSome(forgetter, claim, ids))) continue
      lost += 1
      await setTimeout(TRIES.everyMs)
    }
    throw new ApiError('BUSY', { detail: 'another session of this agent is being erased; try again' })
  } finally {
    const claim = held
    if (claim !== null) await database.single(tenantId, (sql) => releaseAgent(sql, claim))
  }
}

/** Forgets the first captures, as many as are computed at once. False when the claim was over before. */
async function forgetSome(forgetter: Forgetter, claim: LearningClaim, captureIds: readonly string[]): Promise<boolean> {
  const { database } = forgetter
  const { tenantId } = claim
  const renew = () => database.single(tenantId, (sql) => renewLearningClaim(sql, claim))
  const { groups, forgotten } = await whileRenewing(renew, () => computeSome(forgetter, claim, captureIds))
  return database.transaction(tenantId, async (tx) => {
    if (!(await holdClaim(tx, claim))) return false
    for (const changes of groups) await saveLearnedTools(tx, claim, changes)
    await deleteForgotten(tx, tenantId, forgotten)
    return true
  })
}

interface Computed {
  /** What changes of the tools, some of them at a time. */
  readonly groups: readonly (readonly LearnedToolChange[])[]
  /** The captures that are forgotten then. */
  readonly forgotten: readonly string[]
}

async function computeSome(
  { database, thread }: Forgetter,
  { tenantId, agent }: LearningClaim,
  ids: readonly string[],
): Promise<Computed> {
  const read = await database.read(tenantId, (sql) =>
    loadCapturesInOrder(sql, { tenantId, ids, size: BATCH_LIMITS.size }),
  )
  // What retention removed meanwhile is null.
  const present = read.flatMap(({ captureId, item }) => (item === null ? [] : [{ captureId, item }]))
  const items = present.map(({ item }) => item)
  const { captures, tools } = await thread.run(tenantId, 'learnedTools', items)
  const groups: LearnedToolChange[][] = []
  for (let done = 0; done < tools.length; ) {
    const where = { tenantId, agent, tools: tools.slice(done), size: GROUP_SIZE }
    const group = await database.read(tenantId, (sql) => loadSummaries(sql, where))
    const summaries = group.flatMap(({ summary }) => summary ?? [])
    const changes = await thread.run(tenantId, 'forgetBatch', { items: items.slice(0, captures), summaries })
    if (changes.length > 0) groups.push(changes)
    done += group.length
  }
  return { groups, forgotten: present.slice(0, captures).map(({ captureId }) => captureId) }
}
