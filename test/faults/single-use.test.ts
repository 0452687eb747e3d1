import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { PATIENCE_MS, rounds } from '../support/data/rounds.js'
import { checkSession } from '../support/model/session-checker.js'
import { proves } from '../support/proves.js'
import { attachSession, openSession, reserve } from '../support/runtime/governed-session.js'
import { exportOf } from '../support/runtime/ledger-export.js'
import { withRuntime } from '../support/runtime/with-runtime.js'

const { runtime } = await withRuntime({ instances: 2 })

proves(
  'turn.prepared-request.single-use',
  'of fifty proposals at once on one prepared request, over two instances, exactly one is accepted',
  async () => {
    for (let round = 0; round < rounds(10, 500); round++) {
      const session = await openSession(runtime.api())
      const other = attachSession(runtime.api(runtime.key, runtime.instances[1]), session)
      const id = randomUUID()
      await session.preflight({ prepared_request_id: id })
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          // Half of them are the very same proposal, as a retry would be; the others differ.
          (index % 2 === 0 ? session : other).propose(id, [reserve(60, index % 4 < 2 ? 'same' : `c${index}`)]),
        ),
      )
      const accepted = answers.filter(({ status }) => status === 200)
      expect(accepted).toHaveLength(1)
      // 503 BUSY is honest on a machine that cannot keep up: nothing was decided.
      const others = answers.filter(({ status }) => status !== 200)
      expect(others.filter(({ status, problem }) => status !== 409 && problem.code !== 'BUSY')).toEqual([])
      const pending = new Set(accepted[0]?.body.decisions.map((decision) => decision.pending_call_id))
      // A refusal may carry decisions, and then those of the accepted proposal and no others.
      for (const { problem } of others) {
        const proposal = problem.proposal as { decisions: { pending_call_id: string }[] } | undefined
        for (const decision of proposal?.decisions ?? []) expect(pending).toContain(decision.pending_call_id)
      }
      expect((await session.load()).pending).toHaveLength(1)
      if (round % 10 === 0) {
        expect(
          await checkSession(runtime.sql, session.sessionId, await exportOf(session.api, session.sessionId)),
        ).toEqual([])
      }
    }
  },
  PATIENCE_MS,
)
