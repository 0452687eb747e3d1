import { ERRORS, type SessionStatus } from '@countersign/protocol'
import { ReplayContractError, ReplayKillError, ReplayUnavailableError } from '../base/errors.js'
import { ServiceRefusal } from './transport.js'

/** Why a session takes no more calls. `lost`: another holder has it. */
export type StopReason = 'killed' | 'compromised' | 'lost'

/** Null while the session takes calls. */
export function stopReasonOf(status: SessionStatus): StopReason | null {
  if (status === 'KILLED') return 'killed'
  return status === 'COMPROMISED' ? 'compromised' : null
}

/** What a refusal by the server reveals; null when it is about the request alone. */
export function stopReasonIn(error: unknown): StopReason | null {
  if (!(error instanceof ServiceRefusal)) return null
  switch (error.code) {
    case 'SESSION_KILLED':
    case 'WORKFLOW_KILLED':
      return 'killed'
    case 'SESSION_COMPROMISED':
    case 'ARGUMENTS_CHANGED':
      return 'compromised'
    case 'NOT_RECOVERABLE':
      return statusIn(error) === 'KILLED' ? 'killed' : 'compromised'
    case 'FENCE_STALE':
      return 'lost'
    default:
      return null
  }
}

/** The error that the program sees for a refusal. A refusal is an answer, so `onError: allow` does not apply to it. */
export function errorOf(error: ServiceRefusal): Error {
  const stopReason = stopReasonIn(error)
  if (stopReason !== null) return stopError(stopReason, error)
  const message = `${error.message}; nothing was allowed. To fix this, ${ERRORS[error.code].fix}`
  return error.status === 409 ? refused(message, error) : new ReplayUnavailableError(message, { cause: error })
}

/** The server cannot take what a request holds: a character, a depth, a size. */
export const isAboutContent = ({ status }: ServiceRefusal): boolean => status === 400 || status === 413

/** It takes the server too long. */
export const isTooCostly = ({ code }: ServiceRefusal): boolean => code === 'TOO_COSTLY'

const WHY = {
  compromised: 'the session is compromised and takes no more calls; start a new one to continue',
  lost: 'another holder has recovered this session; this one may no longer act for it',
} as const

export function stopError(reason: StopReason, cause?: Error): Error {
  if (reason === 'killed') return new ReplayKillError(undefined, cause && { cause })
  return refused(WHY[reason], cause)
}

function refused(message: string, cause?: Error): ReplayContractError {
  return new ReplayContractError(message, { outcome: 'blocked', decisions: [], blocked: [] }, cause && { cause })
}

function statusIn(error: ServiceRefusal): unknown {
  const { session } = error.problem
  return typeof session === 'object' && session !== null ? Reflect.get(session, 'status') : null
}
