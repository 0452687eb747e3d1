import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PATIENCE_MS, rounds, testSeed } from '../support/data/rounds.js'
import {
  bursts,
  creates,
  EndOfRun,
  filters,
  labels,
  loads,
  recoveries,
  stops,
} from '../support/model/session/control-commands.js'
import { newModel, type Real } from '../support/model/session/model.js'
import { preflights, proposals, receipts, retries } from '../support/model/session/turn-commands.js'
import { checkSession } from '../support/model/session-checker.js'
import { attachSession, openSession } from '../support/runtime/governed-session.js'
import { exportOf } from '../support/runtime/ledger-export.js'
import { withRuntime } from '../support/runtime/with-runtime.js'

const { runtime } = await withRuntime({ instances: 2 })

/** Turns come often, controls now and then, what ends a session seldom. */
const TURN = [preflights, proposals, receipts]
const COMMANDS = [
  ...Array.from({ length: 12 }, () => TURN).flat(),
  ...Array.from({ length: 5 }, () => retries),
  ...[labels, filters, recoveries, loads, creates, recoveries, loads],
  ...[stops, bursts],
]

test(
  'the service does what the model of a session says, command by command, and every ledger holds',
  async () => {
    const target = rounds(300, 20_000)
    const count = { value: 0 }
    const seed = testSeed()
    for (let part = 0; count.value < target; part++) {
      await fc.assert(
        fc.asyncProperty(fc.commands(COMMANDS, { maxCommands: 60, size: 'max' }), async (commands) => {
          const first = await openSession(runtime.api())
          const second = attachSession(runtime.api(runtime.key, runtime.instances[1]), first)
          const real: Real = { runtime, clients: [first, second], count }
          try {
            await fc.asyncModelRun(() => ({ model: newModel(), real }), commands)
          } catch (error) {
            if (!(error instanceof EndOfRun)) throw error
          }
          const exported = await exportOf(first.api, first.sessionId)
          expect(await checkSession(runtime.sql, first.sessionId, exported)).toEqual([])
        }),
        { seed: seed + part, numRuns: 5, endOnFailure: process.env.CI !== undefined },
      )
    }
    console.log(`${count.value} commands`)
  },
  PATIENCE_MS,
)
