import type { Decision, ProposalReply, Receipt, RequestBody, Routes, SessionStatus } from '@countersign/protocol'
import type fc from 'fast-check'
import type { GovernedSession, ToolUse } from '../../runtime/governed-session.js'
import type { Runtime } from '../../runtime/runtime.js'

export interface ModelRequest {
  id: string
  version: number
  control: number
  fence: number
  withTools: boolean
  isUsed: boolean
}

export interface ModelCall {
  decision: Decision
  tool: string
  /** What it takes from the budget of `reserve`. */
  amount: number
  isResolved: boolean
}

type ProposalBody = Pick<RequestBody<Routes['propose']>, 'fence' | 'gate'>

/** What a client that never forgets believes about one session. Everything here is predicted, nothing read back. */
export interface Model {
  status: SessionStatus
  version: number
  control: number
  fence: number
  holder: string
  labels: Set<string>
  filter: string[] | null
  /** The newest request with tools; older ones are void. */
  current: string | null
  requests: ModelRequest[]
  /** Proposals that were accepted, as they were sent, and what was answered. */
  accepted: { id: string; calls: ToolUse[]; body: ProposalBody; reply: ProposalReply }[]
  /** The open step. */
  open: { calls: ModelCall[]; succeeded: boolean } | null
  /** Receipts that were recorded, by call, as they were sent. */
  receipts: Map<string, Receipt>
  /** Every call that was ever registered. */
  calls: ModelCall[]
  reserved: number
  /** The holder was the last to recover and nothing was recorded since. */
  justRecovered: boolean
}

/** The real thing: the same session through two servers. */
export interface Real {
  runtime: Runtime
  clients: readonly [GovernedSession, GovernedSession]
  /** Commands that were run. */
  count: { value: number }
}

export const newModel = (): Model => ({
  status: 'ACTIVE',
  version: 0,
  control: 0,
  fence: 1,
  holder: 'holder-1',
  labels: new Set(),
  filter: null,
  current: null,
  requests: [],
  accepted: [],
  open: null,
  receipts: new Map(),
  calls: [],
  reserved: 0,
  justRecovered: false,
})

/** A command that can always be sent, and notes that it was. */
export function command(name: string, run: (model: Model, real: Real) => Promise<void>): fc.AsyncCommand<Model, Real> {
  return {
    check: () => true,
    run: async (model, real) => {
      real.count.value += 1
      await run(model, real)
    },
    toString: () => name,
  }
}

export const BUDGET = 100

export const waiting = (model: Model): ModelCall[] => (model.open?.calls ?? []).filter((call) => !call.isResolved)

/** The refusal that every authoritative write meets first, or null. */
export function refusalOf(model: Model, fence: number): string | null {
  if (model.status === 'KILLED') return 'SESSION_KILLED'
  if (model.status === 'COMPROMISED') return 'SESSION_COMPROMISED'
  if (fence !== model.fence) return 'FENCE_STALE'
  return null
}
