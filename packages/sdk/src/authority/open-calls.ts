import type { Decision, JsonObject, Receipt } from '@countersign/protocol'
import type { DecidedBy, Evidence } from './authority.js'

export type Approval = NonNullable<Receipt['approvals']>[number]

/** A call that was allowed and whose outcome is not on the way yet. */
export interface OpenCall {
  readonly callId: string
  readonly toolName: string
  readonly arguments: JsonObject
  readonly decision: Decision
  readonly pendingCallId: string
  readonly argumentHash: string
  readonly by: DecidedBy
  /** How long ago it was decided. */
  readonly ageMs: () => number
  approvals: readonly Approval[]
  /** How many results the request that led to this call already had under its id: some providers use ids again. */
  readonly answeredBefore: number
  /** `asking`: a person has not answered yet. */
  state: 'asking' | 'allowed' | 'running' | 'resolved'
  /** Its wrapper was called for it and ran nothing. */
  refused: boolean
}

/** The allowed calls of the open step, and which of them run. */
export interface OpenCalls {
  add(calls: readonly OpenCall[]): void
  /** An allowed call starts to run. */
  start(call: OpenCall): void
  /** Puts a call back that did not run after all. */
  putBack(call: OpenCall): void
  resolve(call: OpenCall, receipt: Receipt): void
  allowed(): readonly OpenCall[]
  /** Those about which a person has not answered yet. */
  asking(): readonly OpenCall[]
  /** No wrapped tool runs. */
  isIdle(): boolean
  /** Resolves when no wrapped tool runs. */
  whenIdle(): Promise<void>
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

export function createOpenCalls(): OpenCalls {
  let calls: OpenCall[] = []
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

  return {
    add(opened) {
      calls = [...calls.filter(({ state }) => state !== 'resolved'), ...opened]
    },
    start(call) {
      call.state = 'running'
    },
    putBack(call) {
      call.state = 'allowed'
      wakeWaiters()
    },
    resolve(call, receipt) {
      call.state = 'resolved'
      const { callId, toolName, by } = call
      const evidence = { call: { callId, toolName }, receipt }
      const batch = gathered.find((one) => one.by === by)
      if (batch === undefined) gathered.push({ by, items: [evidence] })
      else batch.items.push(evidence)
      wakeWaiters()
    },
    allowed: () => calls.filter(({ state }) => state === 'allowed'),
    asking: () => calls.filter(({ state }) => state === 'asking'),
    isIdle: () => isReached('idle'),
    whenIdle: () => waitUntil('idle'),
    async whenResolved(patienceMs) {
      let timer: NodeJS.Timeout | undefined
      const timeUp = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, patienceMs)
      })
      await Promise.race([waitUntil('resolved'), timeUp])
      clearTimeout(timer)
    },
    takeEvidence() {
      const taken = gathered
      gathered = []
      calls = calls.filter(({ state }) => state !== 'resolved')
      return taken
    },
    complete: () => calls.every(({ state }) => state === 'resolved'),
  }
}
