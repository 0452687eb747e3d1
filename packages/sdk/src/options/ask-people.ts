import { ReplayConfigError } from '../base/errors.js'

/** What `askPeople` takes. */
export interface AskPeopleOptions {
  /**
   * How long a model call waits for an answer before its calls are parked: at most a day.
   * @defaultValue `0`
   */
  readonly waitSeconds?: number
}

const MOST_SECONDS = 86_400
/** How long each waits. */
const made = new WeakMap<object, number>()

/**
 * For the option `onCheckpoint`: every checkpoint asks members of the tenant, who answer in the dashboard. Their answer
 * outlives this process. A model call waits up to `waitSeconds` for it; then it throws `ReplayParkedError`, and
 * `session.resume` runs the call later, in this process or another.
 */
export function askPeople({ waitSeconds = 0 }: AskPeopleOptions = {}): () => never {
  if (typeof waitSeconds !== 'number' || !(waitSeconds >= 0 && waitSeconds <= MOST_SECONDS)) {
    throw new ReplayConfigError(`askPeople takes waitSeconds from 0 to ${MOST_SECONDS}`, 'compilation_failed')
  }
  const asks = (): never => {
    throw new ReplayConfigError('what askPeople returns is for the option onCheckpoint, which calls nothing', null)
  }
  made.set(asks, waitSeconds)
  return asks
}

/** Null for a callback of the program. */
export const waitSecondsOf = (onCheckpoint: object | undefined): number | null =>
  onCheckpoint === undefined ? null : (made.get(onCheckpoint) ?? null)
