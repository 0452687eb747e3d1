import type { Decision, JsonObject, Receipt } from '@countersign/protocol'
import type { DecidedBy, DecidedCall, Evidence } from './authority.js'

export type Approval = NonNullable<Receipt['approvals']>[number]

/** A call that was allowed and whose outcome is not on the way yet. */
export interface OpenCall extends DecidedCall {
  readonly callId: string
  readonly toolName: string
  readonly arguments: JsonObject
  /** As the model wrote them, where a person changed them: by these the program says which call it means. */
  readonly proposed?: Readonly<Record<string, unknown>> | undefined
  /** Of a custom tool, which takes a text: the argument `input`. */
  readonly takesText: boolean
  readonly decision: Decision
  approvals: readonly Approval[]
  /** How many results the request that led to this call already had under its id: some providers use ids again. */
  readonly answeredBefore: number
  /** `asking`: a person has not answered yet. */
  state: 'asking' | 'allowed' | 'running' | 'resolved'
  /** A host made this call with other arguments, and nothing ran. */
  refused: boolean
}

/** How long to wait for wrapped tools, and whom to tell. */
export interface IdleWait {
  /** Default: without end. */
  readonly patienceMs?: number
  onLongWait(tools: readonly string[]): void
}

/** After this a wait for a wrapped tool is reported. */
export const LONG_WAIT_MS = 10_000

/** The allowed calls of the open step, and which of them run. */
export interface OpenCalls {
  add(calls: readonly OpenCall[]): void
  /** An allowed call starts to run. */
  start(call: OpenCall): void
  /** Puts a call back that did not run after all. */
  putBack(call: OpenCall): void
  /** Forgets a call that is another's to settle: it leaves no evidence here. */
  drop(call: OpenCall): void
  resolve(call: OpenCall, receipt: Receipt): void
  /** Resolves a call that a newer turn found not run, and remembers it for a later run. */
  giveUp(call: OpenCall, receipt: Receipt): void
  /** Calls that were given up, the newest of each id. */
  givenUp(): readonly OpenCall[]
  allowed(): readonly OpenCall[]
  /** Those about which a person has not answered yet. */
  asking(): readonly OpenCall[]
  /** No wrapped tool runs. */
  isIdle(): boolean
  /** Resolves to true when no wrapped tool runs, to false when the time is up first. Says which ones run for long. */
  whenIdle(wait: IdleWait): Promise<boolean>
  running(): readonly OpenCall[]
  /** Resolves when every call has its evidence, or the time is up. */
  whenResolved(patienceMs: number): Promise<void>
  /** Evidence that waits for the rest of its step, taken away. */
  takeEvidence(): readonly EvidenceBatch[]
  /** Every call of the step has its evidence. */
  complete(): boolean
}

/** The evidence for one that decided. */
export interface EvidenceBatch {
  readonly by: DecidedBy
  readonly items: Evidence[]
}

/** A session remembers so many calls that it gave up. */
const GIVEN_UP = 64

export function createOpenCalls(): OpenCalls {
  let calls: OpenCall[] = []
  let givenUp: OpenCall[] = []
  let gathered: EvidenceBatch[] = []
  let waiters: { until: 'idle' | 'resolved'; wake(): void }[] = []

  const isReached = (until: 'idle' | 'resolved'): boolean =>
    until === 'idle'
      ? !calls.some(({ state }) => state === 'running')
      : calls.every(({ state }) => state === 'resolved')
  const wakeWaiters = (): void => {
    if (waiters.length === 0) return
    const ready = waiters.filter(({ until }) => isReached(until))
    waiters = waiters.filter((waiter) => !ready.includes(waiter))
    for (const { wake } of ready) wake()
  }
  const waitUntil = async (until: 'idle' | 'resolved'): Promise<void> => {
    if (isReached(until)) return
    await new Promise<void>((wake) => waiters.push({ until, wake }))
  }

  const running = (): readonly OpenCall[] => calls.filter(({ state }) => state === 'running')

  const resolve = (call: OpenCall, receipt: Receipt): void => {
    call.state = 'resolved'
    const { callId, toolName, by } = call
    const evidence = { call: { callId, toolName }, receipt }
    const batch = gathered.find((one) => one.by === by)
    if (batch === undefined) gathered.push({ by, items: [evidence] })
    else batch.items.push(evidence)
    wakeWaiters()
  }

  return {
    add(opened) {
      if (givenUp.length > 0) givenUp = givenUp.filter(({ callId }) => !opened.some((call) => call.callId === callId))
      calls = [...calls.filter(({ state }) => state !== 'resolved'), ...opened]
    },
    start(call) {
      call.state = 'running'
    },
    putBack(call) {
      call.state = 'allowed'
      wakeWaiters()
    },
    drop(call) {
      calls = calls.filter((one) => one !== call)
      wakeWaiters()
    },
    resolve,
    giveUp(call, receipt) {
      givenUp = [...givenUp.slice(1 - GIVEN_UP), call]
      resolve(call, receipt)
    },
    givenUp: () => givenUp,
    allowed: () => calls.filter(({ state }) => state === 'allowed'),
    asking: () => calls.filter(({ state }) => state === 'asking'),
    isIdle: () => isReached('idle'),
    running,
    async whenIdle({ patienceMs, onLongWait }) {
      if (isReached('idle')) return true
      const long = setTimeout(() => onLongWait([...new Set(running().map(({ toolName }) => toolName))]), LONG_WAIT_MS)
      await (patienceMs === undefined ? waitUntil('idle') : within(patienceMs, waitUntil('idle')))
      clearTimeout(long)
      return isReached('idle')
    },
    whenResolved: (patienceMs) => within(patienceMs, waitUntil('resolved')),
    takeEvidence() {
      const taken = gathered
      gathered = []
      calls = calls.filter(({ state }) => state !== 'resolved')
      return taken
    },
    complete: () => calls.every(({ state }) => state === 'resolved'),
  }
}

async function within(patienceMs: number, done: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeUp = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, patienceMs)
  })
  await Promise.race([done, timeUp])
  clearTimeout(timer)
}
