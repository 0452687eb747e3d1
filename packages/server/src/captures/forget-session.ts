import type { Services } from '../context/context.js'
import type { Tx } from '../postgres/sql.js'
import { loadSummaries, lockLearnedCapturesOf, saveLearnedTools } from '../store/captures/learned-tools.js'
import { loadCapturesInOrder } from '../store/captures/unlearned.js'
import { BATCH_LIMITS, GROUP_SIZE } from './learn-captures.js'

/**
 * Takes what was learned of a session's calls out of the summaries again, before its captures are erased: keys and values
 * that no other session had. Its agents are locked first, so that nothing is learned of them meanwhile. Some captures and
 * tools at a time, computed in the thread: a session may hold a great deal, and each statement in between shows PostgreSQL
 * that the transaction is alive.
 */
export async function forgetSession(
  tx: Tx,
  thread: Services['thread'],
  { tenantId, sessionId }: { tenantId: string; sessionId: string },
): Promise<void> {
  for (const { agent, captureIds } of await lockLearnedCapturesOf(tx, tenantId, sessionId)) {
    for (let done = 0; done < captureIds.length; ) {
      const ids = captureIds.slice(done, done + BATCH_LIMITS.captures)
      const read = await loadCapturesInOrder(tx, { tenantId, ids, size: BATCH_LIMITS.size })
      // What retention removed meanwhile is null.
      const present = read.filter(({ item }) => item !== null)
      const items = present.map(({ item }) => item ?? '')
      const { captures, tools } = await thread.run(tenantId, 'learnedTools', items)
      for (let forgotten = 0; forgotten < tools.length; ) {
        const where = { tenantId, agent, tools: tools.slice(forgotten), size: GROUP_SIZE }
        const group = await loadSummaries(tx, where)
        const changes = await thread.run(tenantId, 'forgetBatch', {
          items: items.slice(0, captures),
          summaries: group.flatMap(({ summary }) => summary ?? []),
        })
        if (changes.length > 0) await saveLearnedTools(tx, { tenantId, agent }, changes)
        forgotten += group.length
      }
      const next = present[captures]
      done += next === undefined ? read.length : read.indexOf(next)
    }
  }
}
