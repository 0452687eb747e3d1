import { messageOf } from '../../base/diagnostics.js'
import { ReplayContractError, ReplayUnavailableError } from '../../base/errors.js'
import { errorOf, type StopReason, stopReasonIn, stopReasonOf } from '../refusals.js'
import { ServiceRefusal } from '../transport.js'
import type { ServerSession } from './server-session.js'

type Claim = Parameters<ServerSession['claim']>[0]
type Loaded = Awaited<ReturnType<ServerSession['load']>>

/** The calls that were allowed and have no receipt, as the server knows them. */
export interface WaitingCalls {
  load(): Promise<Loaded['pending']>
  /** Throws unless the call may still run. */
  confirm(pendingCallId: string): Promise<void>
  /** Takes the call for this process alone. Throws where another has it, and where nobody knows. */
  claim(call: Claim): Promise<void>
}

export interface WaitingCallsOptions {
  readonly server: ServerSession
  readonly onError: 'block' | 'allow'
  readonly onFailure: (error: unknown) => void
  readonly noteStop: (found: StopReason | null) => void
}

export function createWaitingCalls({ server, onError, onFailure, noteStop }: WaitingCallsOptions): WaitingCalls {
  async function load(): Promise<Loaded['pending']> {
    const { status, pending } = await server.load()
    noteStop(stopReasonOf(status))
    return pending
  }

  return {
    load,
    async confirm(pendingCallId) {
      try {
        const pending = await load()
        if (!pending.some((call) => call.pending_call_id === pendingCallId && call.state === 'pending')) throw gone()
      } catch (error) {
        if (error instanceof ServiceRefusal) throw errorOf(error)
        if (error instanceof ReplayContractError) throw error
        onFailure(error)
        if (onError === 'block') {
          const message = `the server could not confirm that the call may still run: ${messageOf(error)}`
          throw new ReplayUnavailableError(message, { cause: error })
        }
      }
    },
    async claim(call) {
      try {
        await server.claim(call)
      } catch (error) {
        if (error instanceof ServiceRefusal) noteStop(stopReasonIn(error))
        else onFailure(error)
        throw claimError(error)
      }
    },
  }
}

/** Another holder has taken the session over, or the call has an outcome: it may have run already. */
const gone = (): ReplayContractError =>
  new ReplayContractError('the call is no longer pending for this client', {
    outcome: 'blocked',
    decisions: [],
    blocked: [],
  })

/** A call that the server no longer knows as waiting was settled, as one that another has taken will be. */
function claimError(error: unknown): Error {
  if (error instanceof ServiceRefusal) return error.code === 'NOT_FOUND' ? gone() : errorOf(error)
  const message = `the server could not say whether the call is free to run, so that it did not run: ${messageOf(error)}`
  return new ReplayUnavailableError(message, { cause: error })
}
