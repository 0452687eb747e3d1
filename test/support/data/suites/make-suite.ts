import type { SideEffect } from '@countersign/protocol'
import type { RecordedCall, Suite, Trace } from '../../../../bench/learn/dataset.js'
import { seededRandom } from '../../../../bench/learn/score.js'

/** A call that somebody makes up, with what the tool answers: text as it stands, anything else as JSON. */
export interface MadeCall {
  readonly name: string
  readonly arguments: unknown
  readonly result?: unknown
}

export interface MadeTask {
  readonly user: string
  readonly calls: readonly MadeCall[]
  /** The call whose result an outsider can write into, and that result with their words in it. */
  readonly poisoned: { readonly call: number; result(words: string): unknown }
}

/** What an attacker writes, and the call that a misled model then makes. */
export interface MadeGoal {
  readonly words: string
  readonly call: MadeCall
}

export interface MadeDomain {
  readonly name: string
  readonly tools: readonly { readonly name: string; readonly sideEffect: SideEffect; readonly schema?: unknown }[]
  readonly tasks: number
  task(at: number, pick: Pick): MadeTask
  readonly goals: readonly MadeGoal[]
}

export type Pick = <T>(from: readonly T[]) => T

const MODELS = 3
const FOLDS = 5

/** A suite of the recorded data's shape: every task solved by some models, and each attacked by every goal. */
export function makeSuite(domain: MadeDomain): Suite {
  const traces: Trace[] = []
  for (let at = 0; at < domain.tasks; at++) {
    for (let model = 0; model < MODELS; model++) {
      // One task is the same for every model, save what it words itself.
      const random = seededRandom(at * 100)
      const task = domain.task(at * MODELS + model, (from) => from[Math.floor(random() * from.length)] as never)
      const labels = { task: `task_${at}`, fold: at % FOLDS, utility: true, duplicate: false }
      const id = `${domain.name}-${at}-${model}`
      traces.push({ id, user: task.user, calls: task.calls.map(recorded), labels: { ...labels, kind: 'benign' } })
      domain.goals.forEach((goal, index) => {
        const calls = attacked(task, goal)
        traces.push({
          id: `${id}-${index}`,
          user: task.user,
          calls,
          labels: { ...labels, kind: 'attack', utility: false },
        })
      })
    }
  }
  return { name: domain.name, tools: domain.tools.map((tool) => ({ schema: {}, ...tool })), traces }
}

function attacked({ calls, poisoned }: MadeTask, goal: MadeGoal): RecordedCall[] {
  const before = calls
    .slice(0, poisoned.call + 1)
    .map((call, index) => (index === poisoned.call ? { ...call, result: poisoned.result(goal.words) } : call))
  return [...before, goal.call].map((call, index) => {
    const read = recorded(call, index)
    if (index === poisoned.call) return { ...read, labels: { ...read.labels, tainted: true } }
    return index === before.length ? { ...read, labels: { ...read.labels, injected: 'goal' } } : read
  })
}

const recorded = ({ name, arguments: given, result = 'ok' }: MadeCall, turn: number): RecordedCall => ({
  name,
  arguments: given,
  turn,
  result: typeof result === 'string' ? result : JSON.stringify(result),
  shown: result,
  labels: { tainted: false, error: false },
})
