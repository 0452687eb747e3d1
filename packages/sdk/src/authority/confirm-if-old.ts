import { ReplayUnavailableError } from '../base/errors.js'
import { startAge } from '../base/start-age.js'

/** A decision older than this is confirmed before the tool runs, so that a kill reaches queued calls. */
const TRUSTED_MS = 5_000
const CONFIRMATIONS = 3

/** Asks about an old decision until an answer is fresh: one that came while this process was stopped says nothing about now. */
export async function confirmIfOld(ageMs: () => number, ask: () => Promise<void>): Promise<void> {
  let age = ageMs
  for (let asked = 0; age() > TRUSTED_MS; asked++) {
    if (asked === CONFIRMATIONS) {
      throw new ReplayUnavailableError(
        `the server took longer than ${TRUSTED_MS / 1_000} s to confirm that the call may still run`,
      )
    }
    age = startAge()
    await ask()
  }
}
